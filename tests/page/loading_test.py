"""A page asks for nothing, complains of nothing, and checks its numbers before it shows them."""

import re

import browser
import engine
from page import Page, address
from report import expect, expect_equal
from sweep import quiet, sweep


def expect_quiet(page_file, found: dict, where: str) -> None:
    own = page_file.as_uri()
    asked = [url for url in found["requests"] if not url.startswith(("data:", "blob:")) and url.split("#")[0] != own]
    expect(not asked, f"{where}: asks for {asked}")
    expect(not found["console"], f"{where}: on the console: {found['console']}")


def test_no_request_is_made_and_no_error_logged_at_any_step():
    for lesson in engine.all_lessons():
        stops = sweep(lesson)
        steps = {stop["step"] for stop in stops}
        expect(len(steps) >= 15, f"{lesson.name}: only the steps {steps}")
        for stop in stops:
            expect_quiet(lesson.page, stop, f"{lesson.name}, {stop['place']['layer']}, {stop['step']}")


def test_no_request_is_made_and_no_error_logged_in_chinese():
    for lesson in engine.all_lessons():
        quiet()
        page = Page(lesson, lang="zh")
        for step in page.steps():
            page.go(lang="zh", step=step)
            matrices = page.matrices()
            if matrices:
                page.cells([{"key": matrices[-1]["key"], "row": 0, "column": 0}])
            expect_quiet(lesson.page, quiet(), f"{lesson.name}, {step}")
            missing = page.call("latinTexts")
            expect(not missing, f"{lesson.name}, {step}: not in Chinese: {missing}")


def test_an_address_opens_the_page_where_it_says():
    lesson = engine.decoder()
    layer = lesson.document.meta["layers"][0]
    steps = Page(lesson).steps()
    for step in steps[::5]:
        page = Page(lesson, layer=layer, step=step, lang="zh")
        shown = page.call("shown")
        expect_equal((shown["step"], shown["layer"]), (step, layer), f"opened at {step}")
        expect(shown["language"].startswith("zh"), f"{step}: in {shown['language']}")


def test_the_policy_in_the_page_forbids_requests():
    Page(engine.three_words())
    refused = browser.driver().execute_async_script("""
        const done = arguments[0];
        document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
        const image = new Image();
        image.src = "https://example.org/x.png";
        setTimeout(() => done(null), 3000);""")
    expect(refused in ("img-src", "default-src"), f"a picture from elsewhere: {refused}")
    quiet()


def test_numbers_computed_again_are_those_of_the_engine():
    for lesson in engine.all_lessons():
        Page(lesson)
        text = browser.script("return document.getElementById('recomputed').textContent")
        difference = re.search(r"[0-9.]+(e[−-]?[0-9]+)?", text)
        expect(difference and float(difference.group().replace("−", "-")) <= 1e-12, f"{lesson.name}: {text}")
        expect("✓" in text, f"{lesson.name}: {text}")


def test_a_page_whose_numbers_differ_from_the_engines_refuses_to_go_on():
    lesson = engine.three_words()
    weights = lesson.document.named["blocks.0.attention.weights"]
    source = lesson.page.read_text(encoding="utf-8")
    [(_, numbers)] = lesson.document.values[weights]["numbers"].items()
    # The last base64 letters are of the highest bits of the last number.
    other = numbers[:-6] + ("A" if numbers[-6] != "A" else "B") + numbers[-5:]
    expect(source.count(numbers) == 1, "the weights are not in the page, once")
    changed = engine.folder() / "changed.html"
    changed.write_text(source.replace(numbers, other), encoding="utf-8")
    browser.open_page(changed, address(lang="en"))
    shown = browser.script("""return {
        alert: document.querySelector('[role=alert]')?.textContent,
        grids: document.querySelectorAll('[role=grid]').length}""")
    expect(shown["alert"] and "weights" in shown["alert"], f"it says {shown['alert']!r}")
    expect_equal(shown["grids"], 0, "matrices shown all the same")


def test_a_page_has_less_than_two_megabytes():
    for lesson in engine.all_lessons():
        size = lesson.page.stat().st_size
        expect(size < 2_000_000, f"{lesson.name}: {size} bytes")
