"""The page for whoever reads it: by keyboard alone, on a phone and on a hall's screen, on paper, without motion."""

import base64

import browser
import engine
from page import Page
from report import Skipped, expect, expect_equal

WIDTHS = (360, 1280, 1920)
LANGUAGES = ("en", "zh")


def press(key: str, code: int = 0, text: str = "") -> None:
    typed = {"key": key, "code": key, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
    browser.command("Input.dispatchKeyEvent", type="keyDown", **typed)
    browser.command("Input.dispatchKeyEvent", type="keyUp", **typed)


TAB, ENTER, LEFT, UP, RIGHT, DOWN = 9, 13, 37, 38, 39, 40


def test_the_tab_key_reaches_everything():
    lesson = engine.three_words()
    page = Page(lesson, step="softmax")
    for step in ("glance", "softmax", "ledger", "graph", "exercises"):
        page.go(step=step)
        wanted = page.call("numberControls")
        expect(wanted > 20, f"{step}: only {wanted} controls")
        page.call("blur")
        for _ in range(500):  # what has the focus may bring more: the cell of a matrix its panel
            press("Tab", TAB)
            if page.call("isRoundDone"):
                break
        left = page.call("unreachedControls")
        expect(not left, f"{step}: the tab key does not reach {left}")


def test_what_has_the_focus_is_seen_to_have_it():
    page = Page(engine.three_words(), step="softmax")
    page.call("blur")
    for _ in range(page.call("numberControls")):
        press("Tab", TAB)
        hidden = page.call("focusWithoutRing")
        if not expect(not hidden, f"no ring around {hidden}"):
            break


def test_arrow_keys_move_from_cell_to_cell():
    lesson = engine.three_words()
    page = Page(lesson, step="softmax")
    page.call("focusMatrix", "P")
    expect_equal(page.call("chosen"), {"key": "P", "row": 0, "column": 0}, "with the focus")
    for key, code, row, column in [("ArrowDown", DOWN, 1, 0), ("ArrowRight", RIGHT, 1, 1), ("ArrowRight", RIGHT, 1, 2),
                                   ("ArrowRight", RIGHT, 1, 2), ("ArrowUp", UP, 0, 2), ("ArrowLeft", LEFT, 0, 1)]:
        press(key, code)
        expect_equal(page.call("chosen"), {"key": "P", "row": row, "column": column}, f"after {key}")
    shown = browser.script("return document.querySelector('#cell-name').textContent")
    expect_equal(shown, "P[0,1]", "the panel")


def test_keys_lead_through_the_chapters_and_move_switches():
    page = Page(engine.three_words(), step="scores")
    page.call("blur")
    steps = page.steps()
    press("n", 78, "n")
    expect_equal(page.call("shown")["step"], steps[steps.index("scores") + 1], "after n")
    press("p", 80, "p")
    expect_equal(page.call("shown")["step"], "scores", "after p")
    before = page.call("computed")["loss"]
    page.call("focusSwitch", 0)
    press("Enter", ENTER, "\r")
    expect(page.call("computed")["loss"] != before, "a switch does not move with the enter key")


def test_an_arrow_key_that_is_held_down_is_no_trouble():
    """Browsers bear some 20 changes of the address a second."""
    page = Page(engine.decoder(), step="softmax")
    browser.console()
    page.call("focusMatrix", "P")
    page.call("pressManyTimes", "ArrowDown", "ArrowUp", 400)
    said = browser.console()
    expect(not said, f"on the console: {said[:1]}")


def test_no_width_needs_scrolling_to_the_side():
    for lesson in (engine.three_words(), engine.encoder_decoder(), engine.classifier()):
        for width, language in ((360, "en"), (360, "zh"), (1920, "en")):
            browser.resize(width)
            page = Page(lesson, lang=language)
            for step in page.steps():
                page.go(step=step, lang=language)
                found = page.call("widths")
                expect(found["page"] <= width, f"{lesson.name}, {language}, {width} pixels, {step}: "
                       f"{found['page']} wide, by {found['widest']}")
    browser.resize(1280)


def test_printing_gives_a_page_with_the_step_on_it():
    """On white, whatever the screen has."""
    page = Page(engine.decoder(), step="softmax", cell="P.2.1", theme="dark")
    file = base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"])
    browser.command("Emulation.setEmulatedMedia", media="print")
    shown = {**page.call("printed"), "lightness": page.call("lightness")}
    browser.prefer()
    expect(file.startswith(b"%PDF") and len(file) > 20_000, f"the file has {len(file)} bytes")
    expect(shown["matrices"] >= 4, f"matrices on paper: {shown}")
    expect(shown["heading"], "the name of the step is not on paper")
    expect(not shown["switches"], "switches are on paper")
    expect(shown["lightness"] > 240, f"paper is as light as {shown['lightness']}")


def test_who_wants_no_motion_has_none():
    browser.prefer(reduced_motion="reduce")
    page = Page(engine.decoder(), step="softmax", cell="P.1.0")
    moving = page.call("moving")
    browser.prefer()
    expect(not moving, f"moves all the same: {moving}")


def test_light_and_dark_follow_the_system_and_the_button():
    lesson = engine.three_words()
    lightness = {}
    for scheme in ("light", "dark"):
        browser.prefer(color_scheme=scheme)
        page = Page(lesson, step="softmax")
        lightness[scheme] = page.call("lightness")
        other = "dark" if scheme == "light" else "light"
        page.go(step="softmax", theme=other)
        lightness[f"{other} by the button"] = page.call("lightness")
    browser.prefer()
    for name, found in lightness.items():
        expect((found > 128) == name.startswith("light"), f"{name}: the background's lightness is {found}")


def axe_source() -> str:
    file = engine.ROOT / "build/axe/node_modules/axe-core/axe.min.js"
    if not file.exists():
        raise Skipped("there is no axe-core; npm install --prefix build/axe axe-core")
    return file.read_text(encoding="utf-8")


def serious_findings(rules: list) -> list:
    """By these rules, or by all."""
    return browser.driver().execute_async_script("""
        const [rules, done] = arguments;
        const options = { resultTypes: ["violations"], ...(rules.length > 0 ? { runOnly: rules } : {}) };
        axe.run(document, options).then(({ violations }) => done(
            violations.filter(({ impact }) => impact === "serious" || impact === "critical")
                .map(({ id, nodes }) => `${id}: ${nodes.length} times, ${nodes[0].html.slice(0, 160)} `
                     + `${nodes[0].any[0]?.message ?? ""}`)));""", rules)


def test_an_accessibility_checker_finds_nothing_serious():
    source = axe_source()
    for lesson, language, theme, rules in ((engine.encoder_decoder(), "en", "light", []),
                                           (engine.three_words(), "zh", "dark", ["color-contrast"])):
        page = Page(lesson, theme=theme, lang=language)
        browser.script(source)
        for step in page.steps():
            page.go(step=step, theme=theme, lang=language)
            matrices = page.matrices()
            if matrices:
                page.cells([{"key": matrices[-1]["key"], "row": 0, "column": 0}])
            for finding in serious_findings(rules):
                expect(False, f"{lesson.name}, {theme}, {language}, {step}: {finding}")


def test_screenshots_are_there_to_be_looked_at():
    folder = engine.folder().parent / "page-screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    for lesson, step, cell in ((engine.three_words(), "softmax", "dSm.2.1"), (engine.decoder(), "scores", "Z.2.1"),
                               (engine.classifier(), "glance", None)):
        for theme in ("light", "dark"):
            for language in LANGUAGES:
                for width in WIDTHS:
                    browser.resize(width, 800 if width < 1000 else width * 9 // 16)
                    Page(lesson, step=step, cell=cell, theme=theme, lang=language)
                    file = folder / f"{lesson.name}-{step}-{theme}-{language}-{width}.png"
                    expect(browser.driver().save_screenshot(str(file)), f"no {file}")
                    expect(file.stat().st_size > 5000, f"{file} is empty")
    browser.resize(1280)
