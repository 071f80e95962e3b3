"""The page on a phone and on a hall's screen, on paper, in light and dark, with and without motion."""

import base64
import itertools
import re
import shutil
import subprocess

import axe
import browser
import engine
from page import Page
from report import Skipped, expect, expect_equal


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


def test_no_width_needs_scrolling_to_the_side():
    for lesson, languages in ((engine.encoder_decoder(), ("en",)), (engine.classifier(), ("zh",))):
        for width, language in itertools.product((360, 1920), languages):
            browser.resize(width)
            page = Page(lesson, lang=language)
            states = [{"lang": language, "step": step} for step in page.steps()]
            for state, found in zip(states, page.tour(states, "widths")):
                expect(found["page"] <= width, f"{lesson.name}, {language}, {width} pixels, {state['step']}: "
                       f"{found['page']} wide, by {found['widest']}")


CROWDED = """
const ends = (caption) => pageTests.all(":scope > *", caption).map((each) => each.getBoundingClientRect())
  .filter(({ width }) => width > 0).reduce((end, { left, right }) => (left > end - 1 ? right : Infinity), 0);
return pageTests.all("main .matrix figcaption").filter((each) => ends(each) > each.getBoundingClientRect().right + 1)
  .concat(pageTests.all("main .formulas").filter((each) => each.scrollWidth > each.clientWidth))
  .map((each) => each.textContent);"""


def test_captions_and_formulas_have_room_on_a_wide_screen():
    browser.resize(1440, 900)
    page = Page(engine.decoder())
    for step in page.steps():
        page.go(step=step)
        browser.wait_for("requestAnimationFrame(() => requestAnimationFrame(done))")
        crowded = browser.script(CROWDED)
        expect(not crowded, f"{step}: {crowded}")


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


def test_printing_gives_a_page_with_the_step_on_it():
    """On white, whatever the screen has."""
    page = Page(engine.decoder(), step="softmax", cell="P.2.1", theme="dark")
    file = base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"])
    browser.command("Emulation.setEmulatedMedia", media="print")
    page.call("nextFrame")
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
    expect(not moving, f"moves all the same: {moving}")


ARCS_OF_FLOW = "X_in X, X Q, X K, X V, Q Z, K Z, Z P, P O, V O, O Y, X_in R, Y R, R F, R X_out, F X_out"
OF_MEMORY = ARCS_OF_FLOW.replace("X K, X V", "X_enc K, X_enc V")

# By what one page after the other shows: the arcs that the model has.
FLOWS = [
    (engine.three_words, "blocks.0.attention", f"{ARCS_OF_FLOW}, X_out logits, logits ℓ"),
    (engine.decoder, "blocks.0.attention", f"{ARCS_OF_FLOW}, X_out later, X_out logits, later logits, logits ℓ"),
    (engine.encoder_decoder, "decoder.blocks.0.cross_attention", f"{OF_MEMORY}, X_out logits, logits ℓ"),
]


def test_the_arcs_of_the_opening_are_those_of_the_tape():
    for lesson, layer, arcs in FLOWS:
        Page(lesson(), step="glance", layer=layer)
        found = browser.script("""return pageTests.all('.arcs-of-flow path')
            .map(({ dataset }) => `${dataset.from} ${dataset.to}`)""")
        expect_equal(sorted(found), sorted(arcs.split(", ")), layer)


def test_a_station_of_the_opening_leads_to_its_step():
    for lesson in (engine.three_words(), engine.rotary(), engine.encoder_decoder(), engine.classifier()):
        page = Page(lesson, step="glance")
        links = browser.script("return pageTests.all('.flow a.station').map(({ hash }) => hash)")
        expect(len(links) >= 9, f"{lesson.name}: only {len(links)} stations")
        for link in links:
            page.call("go", link)
            shown = page.shown_step()
            expect(f"step={shown}" in link and shown != "glance", f"{lesson.name}: {link} leads to {shown}")


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


# One step of each kind, where a walk through all would find nothing new.
KINDS = ("glance", "softmax", "ledger", "graph", "exercises")


def expect_accessible(lesson, kinds=None, width: int = 1280, **state) -> None:
    """By all rules: the whole page once, then what differs from step to step."""
    browser.resize(width)
    page = Page(lesson, **state)
    axe.prepare()
    steps = [step for step in page.steps() if not kinds or step in kinds]
    stops = [({**state, "step": step}, ["openSomeCell", ["seriousFindings", at == 0]]) for at, step in enumerate(steps)]
    for step, (_, findings) in zip(steps, page.visit(stops)):
        for finding in findings:
            expect(False, f"{lesson.name}, {state}, {width} pixels, {step}: {finding}")


def test_an_accessibility_checker_finds_nothing_serious_at_any_step():
    expect_accessible(engine.encoder_decoder(), theme="light")


def test_an_accessibility_checker_finds_nothing_serious_in_any_look():
    expect_accessible(engine.three_words(), KINDS, theme="dark")
    expect_accessible(engine.three_words(), KINDS, theme="light", lang="zh")
    expect_accessible(engine.decoder(), KINDS, theme="light", style="large")
    expect_accessible(engine.decoder(), KINDS, theme="light", width=360)
    expect_accessible(engine.classifier(), KINDS, theme="light")
    expect_accessible(engine.example("learn"), ("practice",), theme="dark", width=360)
