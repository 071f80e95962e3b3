"""The page for whoever reads it: by keyboard alone, on a phone and on a hall's screen, on paper, without motion."""

import base64
import re
import shutil
import subprocess
from itertools import product

import browser
import engine
from page import Page, decoded
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


def test_a_clicker_builds_up_a_slide_and_leads_to_the_next():
    browser.resize(1024, 768)
    page = Page(engine.three_words(), step="scores", style="large")
    steps = page.steps()
    page.call("blur")
    cell = None
    for slide, key in enumerate([None, "PageDown", "ArrowRight", " ", "PageDown"]):
        if key:
            press(key, {"PageDown": 34, "ArrowRight": RIGHT, " ": 32}[key])
        shown = page.call("stage")
        cell = cell or shown["said"].split(" = ")[0]
        expect(shown["said"].startswith(f"{cell} = "), f"slide {slide}: {shown['said']}")
        expect_equal(shown["hidden"], slide < 3, f"slide {slide}: the number is hidden")
        expect_equal("?" in shown["said"], slide == 0, f"slide {slide}: {shown['said']}")
        expect_equal(bool(shown["question"]), slide == 4, f"slide {slide}: the question {shown['question']!r}")
        expect(slide == 0 or f"slide={slide}" in shown["address"], f"slide {slide}: the address {shown['address']}")
    expect_equal(set(shown["symbols"]), {"Z", "Q", "K^T"}, "the matrices of the slide")
    press("PageDown", 34)
    expect_equal(page.call("shown")["step"], steps[steps.index("scores") + 1], "after the last click")
    press("PageUp", 33)
    expect(page.call("stage")["question"], "back at the end of the slide before")
    press("Home", 36)
    expect_equal(page.call("shown")["step"], steps[0], "after Home")
    press("End", 35)
    expect_equal(page.call("shown")["step"], "loss", "after End")
    press("Escape", 27)
    expect(not page.call("stage")["name"], "the stage after Escape")
    page.go(step="scores", style=None)
    press("PageDown", 34)
    expect_equal(page.call("shown")["step"], "scores", "page down, where nobody presents")


def test_on_stage_nothing_is_cut_off():
    for width, height in ((1024, 768), (1920, 1080)):
        browser.resize(width, height)
        for lesson in (engine.three_words(), engine.decoder()):
            page = Page(lesson)
            for route in (None, "back"):
                scrolled = ("glance", "graph", "exercises", "training", "embedding")
                states = [{"step": step, "style": "large", "route": route, "slide": "2"}
                          for step in page.steps() if step not in scrolled]
                for state, shown in zip(states, page.tour(states, "stage")):
                    expect(shown["right"] <= width and shown["bottom"] <= height,
                           f"{lesson.name}, {state}, {width} x {height}: to {shown['right']}, {shown['bottom']}")


def test_a_question_mark_shows_the_keys():
    page = Page(engine.three_words(), step="scores")
    page.call("blur")
    press("?", 191, "?")
    expect(browser.comes_true("document.querySelector('dialog')?.textContent.includes('next step')"), "no dialog")
    press("n", 78, "n")
    expect_equal(page.call("shown")["step"], "scores", "a key, while the dialog is open")
    press("Escape", 27)
    expect(browser.comes_true("!document.querySelector('dialog')"), "the dialog stays after Escape")


def test_an_arrow_key_that_is_held_down_is_no_trouble():
    """Browsers bear some 20 changes of the address a second."""
    page = Page(engine.decoder(), step="softmax")
    browser.console()
    page.call("focusMatrix", "P")
    page.call("pressManyTimes", "ArrowDown", "ArrowUp", 250)
    said = browser.console()
    expect(not said, f"on the console: {said[:1]}")


def test_no_width_needs_scrolling_to_the_side():
    for lesson in (engine.three_words(), engine.encoder_decoder(), engine.classifier()):
        for width, language in ((360, "en"), (360, "zh"), (1920, "en")):
            browser.resize(width)
            page = Page(lesson, lang=language)
            states = [{"lang": language, "step": step} for step in page.steps()]
            for state, found in zip(states, page.tour(states, "widths")):
                expect(found["page"] <= width, f"{lesson.name}, {language}, {width} pixels, {state['step']}: "
                       f"{found['page']} wide, by {found['widest']}")
    browser.resize(1280)


def test_on_a_projector_of_1024_pixels_the_cell_stands_beside_its_step():
    for lesson in (engine.three_words(), engine.decoder()):
        browser.resize(1024, 768)
        page = Page(lesson, step="softmax", cell="P.1.0")
        shown = browser.script("""
            const at = (selector) => document.querySelector(selector).getBoundingClientRect().toJSON();
            return { step: at("main"), cell: at("aside"), below: at("footer"),
                     high: document.documentElement.scrollHeight }""")
        expect(shown["cell"]["left"] >= shown["step"]["right"] - 1, f"{lesson.name}: not beside it: {shown}")
        expect(shown["cell"]["top"] < 300 and shown["step"]["height"] > 300, f"{lesson.name}: too low: {shown}")
        expect(shown["below"]["bottom"] <= 769 and shown["high"] <= 769, f"{lesson.name}: higher than the screen")
        expect_equal(page.cell_name(), "P[1,0]", f"{lesson.name}: the cell")
    browser.resize(1280)


def test_on_a_phone_the_arithmetic_of_a_cell_is_on_the_screen():
    """In a sheet from below, which leaves the matrix that was tapped to be seen."""
    browser.resize(390, 844)
    page = Page(engine.three_words(), step="softmax")
    page.call("openCell", {"key": "P", "row": 2, "column": 1})
    shown = browser.script("""
        const box = document.querySelector('aside .arithmetic').getBoundingClientRect();
        return { top: box.top, sheet: document.querySelector('aside').getBoundingClientRect().top }""")
    expect(shown["top"] < 844, f"the arithmetic is below the screen: {shown}")
    expect(shown["sheet"] > 400, f"the sheet hides the step: {shown}")
    browser.resize(1280)


def test_an_address_chooses_its_cell_though_a_matrix_has_the_focus():
    page = Page(engine.three_words(), step="softmax")
    page.call("focusMatrix", "P")
    browser.script("location.hash = arguments[0]", "#lang=en&step=sum&cell=dP.2.1")
    browser.driver().execute_async_script("setTimeout(arguments[0], 300)")
    expect_equal(page.cell_name(), "dP[2,1]", "the cell")
    page.call("focusMatrix", "P")
    press("n", 78, "n")
    browser.driver().execute_async_script("setTimeout(arguments[0], 300)")
    expect_equal(page.cell_name(), None, "the cell, after n")


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


def coloured_pixels(pdf: bytes) -> int:
    """Of all its pages, as poppler draws them."""
    if not shutil.which("pdftoppm"):
        raise Skipped("there is no pdftoppm (Debian: poppler-utils)")
    drawn = subprocess.run(["pdftoppm", "-r", "50", "-"], input=pdf, capture_output=True, check=True).stdout
    count = 0
    while drawn:
        header = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", drawn)
        size = 3 * int(header.group(1)) * int(header.group(2))
        pixels = drawn[header.end():header.end() + size]
        count += sum(max(pixels[i:i + 3]) - min(pixels[i:i + 3]) > 60 for i in range(0, size, 3))
        drawn = drawn[header.end() + size:]
    return count


def test_the_colours_of_the_matrices_are_on_paper():
    page = Page(engine.three_words())
    for step in ("softmax", "query", "glance"):
        page.go(step=step)
        coloured = coloured_pixels(base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"]))
        expect(coloured > 2000, f"{step}: only {coloured} pixels have a colour")
    page.go(step="softmax", cell="dS_m.2.1")
    pdf = base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"])
    text = subprocess.run(["pdftotext", "-", "-"], input=pdf, capture_output=True, check=True).stdout.decode()
    expect("computing" not in text and "they differ by" in text, "the difference is not computed on paper")


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


IN_PAGE_AXE = """
    const done = arguments[arguments.length - 1];
    const seen = (violations) => violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes.length} times, ${nodes[0].html.slice(0, 160)} `
             + `${nodes[0].any[0]?.message ?? ""}`);
    pageTests.seriousFindings = async (isWhole) => {
        await pageTests.nextFrame();  // what became wide is made scrollable then
        const where = isWhole ? document : { include: [["main"], ["aside"]] };
        return seen((await axe.run(where, { resultTypes: ["violations"] })).violations);
    };
    done();"""

# One step of each kind, where a walk through all would find nothing new.
KINDS = ("glance", "softmax", "ledger", "graph", "exercises")


def expect_accessible(lesson, kinds=None, width: int = 1280, **state) -> None:
    """By all rules: the whole page once, then what differs from step to step."""
    source = axe_source()
    browser.resize(width)
    page = Page(lesson, **state)
    browser.script(source)
    browser.driver().execute_async_script(IN_PAGE_AXE)
    steps = [step for step in page.steps() if not kinds or step in kinds]
    stops = [({**state, "step": step}, ["openSomeCell", ["seriousFindings", at == 0]]) for at, step in enumerate(steps)]
    for step, (_, findings) in zip(steps, page.visit(stops)):
        for finding in findings:
            expect(False, f"{lesson.name}, {state}, {width} pixels, {step}: {finding}")
    browser.resize(1280)


def test_an_accessibility_checker_finds_nothing_serious_at_any_step():
    expect_accessible(engine.encoder_decoder(), theme="light")


def test_an_accessibility_checker_finds_nothing_serious_in_any_look():
    expect_accessible(engine.three_words(), KINDS, theme="dark")
    expect_accessible(engine.three_words(), KINDS, theme="light", lang="zh")
    expect_accessible(engine.decoder(), KINDS, theme="light", style="large")
    expect_accessible(engine.decoder(), KINDS, theme="light", width=360)
    expect_accessible(engine.classifier(), KINDS, theme="light")


def test_screenshots_are_there_to_be_looked_at():
    folder = engine.folder().parent / "page-screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    for lesson, step, cell in ((engine.three_words(), "softmax", "dSm.2.1"), (engine.decoder(), "scores", "Z.2.1"),
                               (engine.classifier(), "glance", None)):
        page = Page(lesson)
        for width in WIDTHS:
            browser.resize(width, 800 if width < 1000 else width * 9 // 16)
            for theme, language in product(("light", "dark"), LANGUAGES):
                page.go(step=step, cell=cell, theme=theme, lang=language)
                page.call("nextFrame")
                file = folder / f"{lesson.name}-{step}-{theme}-{language}-{width}.png"
                expect(browser.driver().save_screenshot(str(file)), f"no {file}")
                expect(file.stat().st_size > 5000, f"{file} is empty")
    browser.resize(1280)


PROLOGUE = """
const slider = document.querySelector(".prologue input");
const before = document.querySelector(".prologue-said").textContent;
slider.value = Number(slider.value) + arguments[0];
slider.dispatchEvent(new Event("input"));
return { before, after: document.querySelector(".prologue-said").textContent };"""


def numbers_in(text: str) -> list:
    return [float(each.replace("−", "-")) for each in re.findall(r"(?<![\w\[,])−?\d+(?:\.\d+)?(?:e−?\d+)?", text)]


def test_the_prologue_tells_by_how_much_the_loss_moves():
    """Near the point as the tangent says; and that is dQ, as the chapter of queries has it."""
    lesson = engine.three_words()
    page = Page(lesson, step="prologue", head=0)
    small = browser.script(PROLOGUE, 1e-3)
    [_, loss, slope] = numbers_in(small["before"])
    expect_equal(round(loss, 2), round(lesson.document.loss, 2), "the loss")
    [moved, _, _, told, change, _] = numbers_in(small["after"])
    expect(abs(moved - 1e-3) < 1e-6 and abs(change - told) < 0.02 * abs(told), f"near the point: {small}")
    large = browser.script(PROLOGUE, 1.5)
    [moved, _, _, told, change, _] = numbers_in(large["after"])
    expect(abs(change - told) > 0.02 * abs(told), f"far from the point the curve bends: {large}")
    page.go(step="query", head=0)
    [dq] = [each for each in page.call("numberedMatrices") if each["key"] == "dQ"]
    steepest = max(decoded(dq["numbers"]), key=abs)
    expect(abs(steepest - slope) < 0.01 * abs(slope), f"dQ is {steepest}, the prologue says {slope}")


WAY_BACK = """
const text = (each) => each.textContent;
return {
  chapters: pageTests.all(".chapter-select option").map(text),
  chain: pageTests.all(".gradient-chain a").map(text),
  left: document.querySelector(".side.backward").getBoundingClientRect().left <
        document.querySelector(".side.forward").getBoundingClientRect().left,
  passes: pageTests.all(".what-passes p").length,
};"""


def test_the_way_back_begins_at_the_loss():
    page = Page(engine.three_words(), step="softmax")
    forward = browser.script("return pageTests.all('.chapter-select option').map((each) => each.textContent)")
    page.go(step="softmax", route="back")
    shown = browser.script(WAY_BACK)
    first, last = forward.index("Embedding and positions"), forward.index("Loss")
    expect_equal(shown["chapters"][first:last + 1], forward[first:last + 1][::-1], "the chapters")
    expect(shown["chain"][0].startswith("dlogits") and shown["chain"][-1].startswith("dW"), f"the chain: {shown['chain']}")
    expect(shown["left"] and shown["passes"] == 3, f"the gradient stands left, and what passes is told: {shown}")
    page.call("blur")
    press("n", 78, "n")
    expect_equal(page.call("shown")["step"], "mask", "after the softmax, on the way back")


def test_the_chain_of_gradients_has_their_norms():
    page = Page(engine.decoder(), step="scores", route="back")
    [dz] = [each for each in page.call("numberedMatrices") if each["key"] == "dZ"]
    norm = sum(x * x for x in decoded(dz["numbers"])) ** 0.5
    [told] = [each for each in browser.script(WAY_BACK)["chain"] if each.startswith("dZ")]
    expect(abs(float(told[2:].strip("‖").replace("−", "-")) - norm) < 0.01 * norm, f"{told}, and it is {norm}")
