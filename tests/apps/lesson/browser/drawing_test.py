"""What is drawn in the next frame: marks and places follow the state, however fast it changes."""

import browser
import engine
from page import Page
from report import expect, expect_equal

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
const [key, done] = arguments;
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
    browser.resize(1280)


def test_a_step_begins_at_its_top_and_a_mistake_leaves_it_where_it_is():
    browser.resize(1280, 500)
    page = Page(engine.three_words(), step="softmax")
    key = page.matrices()[-1]["key"]
    before, after, at_next = browser.driver().execute_async_script(SCROLL, key)
    expect(before > 100, f"the last matrix is below, and End scrolls only to {before}")
    expect(abs(after - before) < 60, f"a mistake moves the step from {before} to {after}")
    expect_equal(at_next, 0, "how far the next step is scrolled")
    browser.resize(1280)
