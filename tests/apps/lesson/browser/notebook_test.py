"""A notebook that Jupyter has run, in the browser: the page of a trace works in its frame."""

import os
import subprocess
import sys
from pathlib import Path

import browser
import engine
from report import Skipped, expect, expect_equal

ROOT = Path(__file__).parents[4]
FOLDER = engine.folder() / "notebook"
PACKAGE = engine.program().parent / "python"


def executed() -> Path:
    """The notebook of a trained model, as HTML: what stands in Jupyter's output cells stands there."""
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1")
    for module in ("nbconvert", "ipykernel", "qkv"):
        if subprocess.run([sys.executable, "-c", f"import {module}"], env=environment, capture_output=True).returncode:
            raise Skipped(f"Python has no module {module} (Debian: python3-nbconvert, python3-ipykernel; qkv: ./test)")
    FOLDER.mkdir(parents=True, exist_ok=True)
    script = ROOT / "examples/python/heat_maps.py"
    subprocess.run([sys.executable, "-B", ROOT / "tools/notebooks.py", script, FOLDER], check=True)
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "--template", "basic",
                           FOLDER / "heat_maps.ipynb"], env=environment, cwd=FOLDER, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    page = FOLDER / "heat_maps.html"
    page.write_text("<!doctype html><meta charset=\"utf-8\"><title>notebook</title>" + page.read_text())
    return page


def test_the_page_of_a_trace_works_in_the_frame_of_a_notebook():
    page = executed()
    browser.console()
    browser.open_page(page)
    driver = browser.driver()
    frames = driver.find_elements("css selector", "iframe")
    expect_equal(len(frames), 4, "three heat maps and a page")
    for frame in frames[:3]:
        driver.switch_to.frame(frame)
        expect(browser.comes_true("document.querySelectorAll('svg text').length > 100"), "a heat map has no numbers")
        driver.switch_to.default_content()
    driver.switch_to.frame(frames[3])
    expect(browser.comes_true("document.querySelectorAll('nav.chapters a').length > 5"), "the page does not begin")
    steps = browser.script("return [...document.querySelectorAll('nav.chapters a')].map((a) => a.getAttribute('href'))")
    shown = set()
    for step in steps:
        browser.script("document.querySelector(`nav.chapters a[href='${arguments[0]}']`)?.click()", step)
        shown.add(browser.script("return document.querySelector('#step').innerText"))
    expect(len(shown) > 5, f"the links of the page lead to {len(shown)} steps")
    browser.script("document.querySelector('#step td, #step [role=gridcell]')?.click()")
    expect_equal(browser.script("return location.href"), "about:srcdoc", "the address in the frame")
    driver.switch_to.default_content()
    expect_equal(browser.script("return document.title"), "notebook", "the page around the frame")
    expect_equal(browser.console(), [], "on the console")
