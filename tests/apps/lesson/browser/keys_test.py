"""The page by keyboard alone, and what follows a key, a scroll or a click."""

import browser
import engine
from page import Page
from report import expect, expect_equal


def test_the_tab_key_reaches_everything():
    lesson = engine.three_words()
    page = Page(lesson, step="softmax")
    for step in ("glance", "softmax", "graph"):
        page.go(step=step)
        wanted = page.call("numberControls")
        expect(wanted > 20, f"{step}: only {wanted} controls")
        page.call("blur")
        for _ in range(500):  # what has the focus may bring more: the cell of a matrix its panel
            browser.press("Tab")
            if page.call("isRoundDone"):
                break
        left = page.call("unreachedControls")
        expect(not left, f"{step}: the tab key does not reach {left}")


def test_what_has_the_focus_is_seen_to_have_it():
    page = Page(engine.three_words(), step="softmax")
    page.call("blur")
    for _ in range(page.call("numberControls")):
        browser.press("Tab")
        hidden = page.call("focusWithoutRing")
        if not expect(not hidden, f"no ring around {hidden}"):
            break


def test_arrow_keys_move_from_cell_to_cell():
    lesson = engine.three_words()
    page = Page(lesson, step="softmax")
    page.call("focusMatrix", "P")
    expect_equal(page.call("chosen"), {"key": "P", "row": 0, "column": 0}, "with the focus")
    for key, row, column in [("ArrowDown", 1, 0), ("ArrowRight", 1, 1), ("ArrowRight", 1, 2), ("ArrowRight", 1, 2),
                             ("ArrowUp", 0, 2), ("ArrowLeft", 0, 1)]:
        browser.press(key)
        expect_equal(page.call("chosen"), {"key": "P", "row": row, "column": column}, f"after {key}")
    shown = page.cell_name()
    expect_equal(shown, "P[0,1]", "the panel")


def test_keys_lead_through_the_chapters_and_move_switches():
    page = Page(engine.three_words(), step="scores")
    page.call("blur")
    steps = page.steps()
    browser.press("n")
    expect_equal(page.shown_step(), steps[steps.index("scores") + 1], "after n")
    browser.press("p")
    expect_equal(page.shown_step(), "scores", "after p")
    before = page.loss()
    page.call("focusSwitch", 0)
    browser.press("Enter")
    expect(page.loss() != before, "a switch does not move with the enter key")


def test_a_clicker_builds_up_a_slide_and_leads_to_the_next():
    browser.resize(1024, 768)
    page = Page(engine.three_words(), step="scores", style="large")
    steps = page.steps()
    page.call("blur")
    cell = None
    for slide, key in enumerate([None, "PageDown", "ArrowRight", " ", "PageDown"]):
        if key:
            browser.press(key)
        shown = page.call("stage")
        cell = cell or shown["said"].split(" = ")[0]
        expect(shown["said"].startswith(f"{cell} = "), f"slide {slide}: {shown['said']}")
        expect_equal(shown["hidden"], slide < 3, f"slide {slide}: the number is hidden")
        expect_equal("?" in shown["said"], slide == 0, f"slide {slide}: {shown['said']}")
        expect_equal(bool(shown["question"]), slide == 4, f"slide {slide}: the question {shown['question']!r}")
        expect(slide == 0 or f"slide={slide}" in shown["address"], f"slide {slide}: the address {shown['address']}")
    expect_equal(set(shown["symbols"]), {"Z", "Q", "K^T"}, "the matrices of the slide")
    browser.press("PageDown")
    expect_equal(page.shown_step(), steps[steps.index("scores") + 1], "after the last click")
    browser.press("PageUp")
    expect(page.call("stage")["question"], "back at the end of the slide before")
    browser.press("Home")
    expect_equal(page.shown_step(), steps[0], "after Home")
    browser.press("End")
    expect_equal(page.shown_step(), "loss", "after End")
    browser.press("Escape")
    expect(not page.call("stage")["name"], "the stage after Escape")
    page.go(step="scores", style=None)
    browser.press("PageDown")
    expect_equal(page.shown_step(), "scores", "page down, where nobody presents")


def test_a_question_mark_shows_the_keys():
    page = Page(engine.three_words(), step="scores")
    page.call("blur")
    browser.press("?")
    expect(browser.comes_true("document.querySelector('dialog')?.textContent.includes('next step')"), "no dialog")
    browser.press("n")
    expect_equal(page.shown_step(), "scores", "a key, while the dialog is open")
    browser.press("Escape")
    expect(browser.comes_true("!document.querySelector('dialog')"), "the dialog stays after Escape")


def test_an_arrow_key_that_is_held_down_is_no_trouble():
    """Browsers bear some 20 changes of the address a second."""
    page = Page(engine.decoder(), step="softmax")
    browser.console()
    page.call("focusMatrix", "P")
    page.call("pressManyTimes", "ArrowDown", "ArrowUp", 250)
    said = browser.console()
    expect(not said, f"on the console: {said[:1]}")


def test_an_address_chooses_its_cell_though_a_matrix_has_the_focus():
    page = Page(engine.three_words(), step="softmax")
    page.call("focusMatrix", "P")
    browser.script("location.hash = arguments[0]", "#lang=en&step=sum&cell=dP.2.1")
    browser.wait_for("setTimeout(done, 300)")
    expect_equal(page.cell_name(), "dP[2,1]", "the cell")
    page.call("focusMatrix", "P")
    browser.press("n")
    browser.wait_for("setTimeout(done, 300)")
    expect_equal(page.cell_name(), None, "the cell, after n")


# Whether the canvas of marks has a colour at the left edge of a cell.
MARKED = """
const [key, row, column] = arguments;
const map = document.getElementById("lesson").app.steps.maps.find(({ matrix }) => matrix.key === key);
if (!map) return null;
const x = (map.left + column * map.cellWidth) * devicePixelRatio;
const y = (map.top + (row + 0.5) * map.cellHeight) * devicePixelRatio;
return map.marks.getContext("2d").getImageData(Math.round(x), Math.round(y), 1, 1).data[3] > 0;"""

# To the end of a row that is below, and before the page has heard that it was scrolled, a mistake: how far the step is
# scrolled before and after. Then to the end of the row and to the next step at once.
SCROLL = """
const [key] = arguments;
const main = document.querySelector("main");
const press = (key) =>
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
(async () => {
  pageTests.focusMatrix(key);
  await pageTests.nextFrame();
  main.scrollTop = 20;
  await pageTests.nextFrame();
  await pageTests.nextFrame();
  press("End");
  await pageTests.nextFrame();
  const found = [main.scrollTop];
  await pageTests.chooseMistake("scale");
  found.push(main.scrollTop);
  pageTests.focusMatrix(key);
  press("Home");
  press("n");
  await pageTests.nextFrame();
  done([...found, main.scrollTop]);
})();"""


def is_marked(page: Page, key: str, row: int, column: int):
    page.call("nextFrame")
    return browser.script(MARKED, key, row, column)


def test_the_chosen_cell_is_marked_wherever_one_comes_from():
    page = Page(engine.three_words(), step="softmax", cell="P.2.1")
    expect_equal(is_marked(page, "P", 2, 1), True, "P[2,1], when the page opens")
    for changes in ({"step": "glance"}, {"style": "large"}, {"step": "query"}, {"zoom": "numbers"}):
        page.go(step="softmax", cell="P.2.1")
        page.go(**{"step": "softmax", **changes})
        page.go(step="softmax", cell="P.2.1")
        page.call("openCell", {"key": "P", "row": 1, "column": 0})
        expect_equal(is_marked(page, "P", 1, 0), True, f"P[1,0], chosen after {changes}")
        expect_equal(is_marked(page, "P", 2, 1), False, f"P[2,1] after {changes}, which is no longer chosen")
    browser.resize(1000)
    expect_equal(is_marked(page, "P", 1, 0), True, "P[1,0] in a narrower window")


def test_a_step_begins_at_its_top_and_a_mistake_leaves_it_where_it_is():
    browser.resize(1280, 500)
    page = Page(engine.three_words(), step="softmax")
    key = page.matrices()[-1]["key"]
    before, after, at_next = browser.wait_for(SCROLL, key)
    expect(before > 100, f"the last matrix is below, and End scrolls only to {before}")
    expect(abs(after - before) < 60, f"a mistake moves the step from {before} to {after}")
    expect_equal(at_next, 0, "how far the next step is scrolled")
