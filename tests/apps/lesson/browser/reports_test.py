"""The pages of labs, runs and gradient checks, and a notebook: they fit, speak both languages, lead somewhere, ask for
nothing, and tell the numbers of what they are of."""

import json
import math
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import axe
import browser
import engine
from report import Skipped, expect, expect_equal, expect_near


def lab_pages() -> Path:
    """Of labs whose trainings hardly begin: what they find is of no worth, how it is shown is the same."""
    quick = ["lab", "--all", "--steps", "5", "--seeds", "2"]

    def write(folder):
        engine.call_well(*quick, "--runs", folder / "runs", "--out", folder / "pages")

    return engine.made_once("lab-pages", quick, write) / "pages"


def all_lab_pages() -> list:
    found = sorted(lab_pages().glob("*.html"))
    expect(len(found) > 20, f"pages: {[page.name for page in found]}")
    return found


def made_by(name: str, *command) -> Path:
    """The page that a command writes with --out."""
    here = engine.made_once(name, [str(each) for each in command],
                            lambda folder: engine.call_well(*command, "--out", folder / "page.html"))
    return here / "page.html"


def gradcheck_page() -> Path:
    return made_by("gradcheck", "gradcheck", "--op", "layer_norm", "--op", "softmax", "--mutate")


def detailed_run() -> Path:
    return engine.run("detailed", "reverse", *engine.DIGITS, "train.detail_interval=2")


def run_pages() -> list:
    few = ["data.validation_examples=10", "model.num_layers=1"]
    runs = {"detailed": detailed_run(), "hostile-text": engine.hostile_run(),
            "encoder-decoder": engine.run("encoder-decoder", "reverse_seq2seq", *engine.DIGITS, "model.num_layers=1"),
            "images": engine.run("classifier", "shapes", "data.image_size=12", *few, "model.d_ff=16"),
            "recurrence": engine.run("recurrence", "reverse", *engine.DIGITS, "model.mixer=recurrence", "model.num_heads=4")}
    return [made_by(f"run-page-{name}", "report", run) for name, run in runs.items()]


def flip_language() -> None:
    browser.script("document.querySelector('#language').click()")


def unfold() -> None:
    browser.script("document.querySelectorAll('details').forEach((part) => (part.open = true))")


# Texts of drawings that are not wholly inside of them.
CUT = """
    const cut = [];
    for (const svg of document.querySelectorAll("svg")) {
      const whole = svg.getBoundingClientRect();
      if (whole.width === 0) continue;
      for (const text of svg.querySelectorAll("text")) {
        const box = text.getBoundingClientRect();
        const isInside = box.left >= whole.left - 1 && box.right <= whole.right + 1
                         && box.top >= whole.top - 1 && box.bottom <= whole.bottom + 1;
        if (!isInside) cut.push(`${svg.getAttribute("aria-label")}: ${text.textContent}`);
      }
    }
    return cut;"""


def expect_to_fit(page: Path, scheme: str, languages: tuple, widths: tuple) -> None:
    where = f"{page.parent.name}/{page.name}, {scheme}"
    browser.prefer(color_scheme=scheme)
    browser.open_page(page)
    unfold()
    for language in languages:
        if language == "zh":
            flip_language()
        for width in widths:
            browser.resize(width)
            wide = browser.script("return document.documentElement.scrollWidth")
            expect_equal(wide, width, f"{where}, {language}: the width of the page")
            cut = browser.script(CUT)
            expect(not cut, f"{where}, {language}, {width}: cut off: {cut[:5]}")
    browser.expect_quiet(page, where)


def test_every_page_fits_in_both_languages_and_asks_for_nothing():
    for page in all_lab_pages():
        expect_to_fit(page, "light", ("en", "zh"), (390, 1024, 1440))
    for scheme in ("light", "dark"):
        for page in run_pages():
            expect_to_fit(page, scheme, ("en", "zh"), (390, 1440))
            found = browser.script("return [window.broken ?? null, document.querySelectorAll('main :is(b, script)').length]")
            expect_equal(found, [None, 0], f"{page}: markup from a text")
        expect_to_fit(gradcheck_page(), scheme, ("en",), (360, 1400))


def test_the_page_of_a_run_shows_the_numbers_of_its_files():
    run = detailed_run()
    browser.open_page(run_pages()[0])
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    unfold()
    rows = browser.script("""
        return [...document.querySelectorAll("main tr")].filter((row) => row.checkVisibility())
            .map((row) => [...row.cells].map((cell) => cell.textContent));""")
    shown = {row[0]: row[1:] for row in rows}
    for name, norm in json.loads(lines[-1])["detail"]["gradient_norm"].items():
        expect(abs(float(shown[name][0]) - norm) <= 0.05 * norm, f"{name}: {shown[name]}, and its norm is {norm}")
    points = browser.script("return document.querySelector('svg.lines polyline').getAttribute('points').trim().split(' ')")
    expect_equal(len(points), len(lines), "the points of the first curve")


def test_a_link_to_an_op_of_a_gradient_check_opens_it():
    browser.open_page(gradcheck_page())
    opened = "return [...document.querySelectorAll('details[open] > summary b')].map((name) => name.textContent)"
    expect_equal(browser.script(opened), [], "open before")
    browser.script("[...document.querySelectorAll('a')].find((link) => link.textContent === 'softmax').click()")
    expect_equal(browser.script(opened), ["softmax"], "open after")


def test_lab_pages_flip_between_two_languages_and_take_the_choice_along():
    browser.open_page(lab_pages() / "scaling.html")
    state = """return [document.documentElement.lang, location.search,
                       document.querySelector("details > summary").checkVisibility(),
                       [...document.querySelectorAll("details > summary")]
                           .filter((each) => each.checkVisibility())[0].textContent]"""
    expect_equal(browser.script(state)[0], "en", "the language before")
    flip_language()
    expect_equal(browser.script(state), ["zh-CN", "?lang=zh", False, "你预期会怎样？"], "after the button")
    browser.script("document.querySelector('nav a').click()")
    browser.wait_for("setTimeout(done, 300)")
    found = browser.script("return [location.pathname.split('/').pop(), document.documentElement.lang, document.title]")
    expect_equal(found[:2], ["index.html", "zh-CN"], "the page that was followed to")
    expect(re.search("[一-龥]", found[2]) is not None, f"its title: {found[2]}")
    flip_language()
    expect_equal(browser.script("return document.documentElement.lang"), "en", "after the button once more")


def test_every_link_of_the_lab_pages_leads_somewhere():
    texts = {page.name: page.read_text(encoding="utf-8").split("<script")[0] for page in all_lab_pages()}
    ids = {name: set(re.findall(r' id="([^"]+)"', text)) for name, text in texts.items()}
    for name, text in texts.items():
        found = re.findall(r' id="([^"]+)"', text)
        expect_equal(len(found), len(set(found)), f"{name}: ids that are there once")
        for address in map(unescape, re.findall(r'href="([^"]+)"', text)):
            if address.startswith("https://"):
                continue
            file, _, part = address.partition("#")
            expect((file or name) in texts, f"{name}: no page {file}")
            expect(not part or part in ids.get(file or name, ()), f"{name}: no place {address}")
    for name in ("index.html", "note-A.html", "note-B.html", "note-C.html", "note-D.html"):
        expect(name in texts, f"there is no {name}")


def test_an_accessibility_checker_finds_nothing_serious_in_lab_pages():
    for name in ("index", "note-A", "scaling", "positions"):
        for scheme in ("light", "dark"):
            browser.prefer(color_scheme=scheme)
            browser.resize(390)
            browser.open_page(lab_pages() / f"{name}.html")
            unfold()
            axe.prepare()
            for finding in axe.serious_findings():
                expect(False, f"{name}, {scheme}: {finding}")


def slide(page: str, slider: str, place: int) -> dict:
    """What a slider of the page says at a place: {"choice": text, name: text, …}."""
    if browser.script("return location.pathname.split('/').pop()") != f"{page}.html":
        browser.open_page(lab_pages() / f"{page}.html")
    return browser.script("""
        const box = document.querySelector(`[data-slider=${arguments[0]}]`), input = box.querySelector("input");
        input.value = arguments[1];
        input.dispatchEvent(new Event("input"));
        const numbers = [...box.querySelectorAll("[data-number]")];
        return Object.fromEntries([["choice", box.querySelector("output").textContent],
                                   ...numbers.map((each) => [each.dataset.number, each.textContent])]);""", slider, place)


def expect_numbers(found: dict, wanted: dict, what: str) -> None:
    expect_equal(set(found), {"choice", *wanted}, f"{what}: the numbers that are shown")
    for name, number in wanted.items():
        expect_near(float(found[name]), number, 6e-2 if abs(number) < 1e-3 else 6e-4, f"{what}: {name}")


def softmax(scores: list) -> list:
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def entropy(weights: list) -> float:
    return -sum(p * math.log(p) for p in weights if p > 0)


def random_normals(count: int) -> list:
    """mulberry32 from the seed of the page, by way of Box and Muller."""
    state, mask, numbers = 20170612, 0xFFFFFFFF, []

    def uniform() -> float:
        nonlocal state
        state = (state + 0x6D2B79F5) & mask
        t = ((state ^ (state >> 15)) * (1 | state)) & mask
        t = ((t + (((t ^ (t >> 7)) * (61 | t)) & mask)) & mask) ^ t
        return (t ^ (t >> 14)) / 2**32

    while len(numbers) < count:
        radius, angle = math.sqrt(-2 * math.log(1 - uniform())), 2 * math.pi * uniform()
        numbers += [radius * math.cos(angle), radius * math.sin(angle)]
    return numbers[:count]


def test_the_slider_of_scaling_is_right():
    for place, d in ((0, 1), (4, 16), (8, 256)):
        numbers = random_normals(80 * d)
        rows = [numbers[i * d:(i + 1) * d] for i in range(80)]
        scores = [[sum(a * b for a, b in zip(query, key)) for key in rows[16:]] for query in rows[:16]]
        every = [score for row in scores for score in row]
        mean = sum(every) / len(every)
        variance = sum((score - mean) ** 2 for score in every) / (len(every) - 1)
        expect(abs(variance / d - 1) < 0.5, f"the variance of the scores of d = {d} is {variance}")
        plain, divided = softmax(scores[0][:8]), softmax([score / math.sqrt(d) for score in scores[0][:8]])
        found = slide("scaling", "scaling", place)
        expect_equal(found["choice"], str(d), "d")
        expect_numbers(found, {"variance": variance, "divided variance": variance / d, "largest weight": max(plain),
                               "divided largest weight": max(divided), "entropy": entropy(plain),
                               "divided entropy": entropy(divided)}, f"d = {d}")


def test_the_slider_of_softmax_is_right():
    for place, factor in ((0, 0), (3, 1), (5, 4), (6, 8)):
        p = softmax([factor * z for z in (1, 0.5, -0.5, -1)])
        back = [p[1] * ((i == 1) - p[i]) for i in range(4)]  # the second row of diag(p) - p pᵀ
        expect_numbers(slide("scaling", "softmax", place), {"largest weight": max(p), "entropy": entropy(p),
                                                            "|dS|": math.hypot(*back), "sum of dS": 0}, f"times {factor}")


def test_the_slider_of_sinusoids_is_right():
    def product(a: int, b: int) -> float:
        """Of two encodings of 32 numbers: by the cosine of a difference."""
        return sum(math.cos((a - b) / 10000 ** (2 * i / 32)) for i in range(16))

    for t in (0, 1, 20, 63):
        expect_numbers(slide("positions", "sinusoid", t), {"|e|²": product(t, t), "next": product(t, t + 1),
                                                           "previous": product(t, t - 1), "far": product(t, t + 16)},
                       f"t = {t}")


def test_a_map_is_covered_until_the_reader_bets():
    browser.open_page(lab_pages() / "cost.html")
    found = browser.script("""
        const box = [...document.querySelectorAll(".where")].find((each) => each.checkVisibility());
        const [across, down] = box.querySelectorAll("input"), told = [box.classList.contains("covered")];
        across.value = across.max;
        across.dispatchEvent(new Event("input"));
        down.value = 0;
        down.dispatchEvent(new Event("input"));
        box.querySelector("button").click();
        const cell = box.querySelector(".point");
        return [...told, box.classList.contains("covered"), box.querySelectorAll("button").length, cell.textContent,
                cell.className, box.querySelector("output").textContent, box.querySelector("p .in-en").textContent];""")
    expect_equal(found, [True, False, 0, "✓", "agrees point", "n = 512, d = 16", "It holds here."], "the map")


def executed() -> Path:
    """The notebook of a trained model, as HTML: what stands in Jupyter's output cells stands there."""
    folder = engine.folder() / "notebook"
    environment = dict(os.environ, PYTHONPATH=str(engine.program().parent / "python"), PYTHONDONTWRITEBYTECODE="1")
    for module in ("nbconvert", "ipykernel", "qkv"):
        if subprocess.run([sys.executable, "-c", f"import {module}"], env=environment, capture_output=True).returncode:
            raise Skipped(f"Python has no module {module} (Debian: python3-nbconvert, python3-ipykernel; qkv: ./test)")
    folder.mkdir(parents=True, exist_ok=True)
    script = engine.ROOT / "examples/python/heat_maps.py"
    subprocess.run([sys.executable, "-B", engine.ROOT / "tools/notebooks.py", script, folder], check=True)
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "--template", "basic",
                           folder / "heat_maps.ipynb"], env=environment, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    page = folder / "heat_maps.html"
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
