"""The page of `qkv report`, of every kind of model: it fits, speaks two languages and says nothing on the console."""

import json

import browser
import engine
from hostile_test import text_run
from lab_pages_test import CUT, flip_language, unfold
from report import expect, expect_equal

WIDTHS = (390, 1440)
FEW = ["data.validation_examples=10"]


def runs() -> dict:
    detailed = engine.run("detailed", "reverse", *engine.DIGITS, "train.detail_interval=2")
    return {
        "detailed": detailed,
        "encoder-decoder": engine.run("encoder-decoder", "reverse_seq2seq", *engine.DIGITS, "model.num_layers=1"),
        "images": engine.run("classifier", "shapes", "data.image_size=12", *FEW, "model.num_layers=1", "model.d_ff=16"),
        "recurrence": engine.run("recurrence", "reverse", *engine.DIGITS, "model.mixer=recurrence", "model.num_heads=4"),
        "hostile": text_run("hostile-text"),
    }


def page_of(name: str, run):
    write = lambda here: engine.call_well("report", run, "--html", here / "page.html")  # noqa: E731
    return engine.made_once(f"run-page-{name}", [str(run)], write) / "page.html"


def test_the_page_of_a_run_fits_in_both_languages_and_asks_for_nothing():
    for name, run in runs().items():
        path = page_of(name, run)
        for scheme in ("light", "dark"):
            browser.prefer(color_scheme=scheme)
            browser.requests()
            browser.console()
            browser.open_page(path)
            unfold()
            for language in ("en", "zh"):
                if language == "zh":
                    flip_language()
                for width in WIDTHS:
                    where = f"{name}, {scheme}, {language}, {width}"
                    browser.resize(width)
                    wide = browser.script("return document.documentElement.scrollWidth")
                    expect_equal(wide, width, f"{where}: the width of the page")
                    cut = browser.script(CUT)
                    expect(not cut, f"{where}: cut off: {cut[:5]}")
            asked = [address for address in browser.requests() if not address.startswith(("file:", "about:"))]
            expect(not asked, f"{name}: asked for {asked}")
            said = browser.console()
            expect(not said, f"{name}, on the console: {said}")
        found = browser.script("return [window.broken ?? null, document.querySelectorAll('main :is(b, script)').length]")
        expect_equal(found, [None, 0], f"{name}: markup from a text")
    browser.prefer()
    browser.resize(1280)


def test_the_page_of_a_run_shows_the_numbers_of_its_files():
    run = runs()["detailed"]
    browser.open_page(page_of("detailed", run))
    last = json.loads((run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])["detail"]
    unfold()
    rows = browser.script("""
        return [...document.querySelectorAll("main tr")].filter((row) => row.checkVisibility())
            .map((row) => [...row.cells].map((cell) => cell.textContent));""")
    shown = {row[0]: row[1:] for row in rows}
    for name, norm in last["gradient_norm"].items():
        expect(abs(float(shown[name][0]) - norm) <= 0.05 * norm, f"{name}: {shown[name]}, and its norm is {norm}")
    points = browser.script("return document.querySelector('svg.lines polyline').getAttribute('points').trim().split(' ')")
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    expect_equal(len(points), len(lines), "the points of the first curve")
