"""Lines from a query to its keys: as thick as the shares, of two heads side by side."""
import math

import browser
import engine
from page import Page
from report import expect, expect_equal

DRAWN = """const width = (path) => Number(path.getAttribute("stroke-width"));
return pageTests.all(".arcs figure").map((figure) => ({
  shares: pageTests.all("path.share", figure).map(width),
  more: pageTests.all("path.more", figure).length, less: pageTests.all("path.less", figure).length,
  chosen: pageTests.all(".query", figure).findIndex((name) => name.classList.contains("chosen")),
}));"""

LAYER = "blocks.1.attention"


def row_of(lesson, name: str, head: int, query: int) -> tuple:
    value = lesson.document.named[f"{LAYER}.weights"]
    [_, _, rows, columns] = lesson.document.shape(value)
    numbers = lesson.document.numbers(value) if name == "P" else lesson.document.gradient(f"{LAYER}.weights")
    return numbers[(head * rows + query) * columns:(head * rows + query + 1) * columns]


def test_lines_are_as_thick_as_the_shares_of_two_heads():
    browser.resize(1440, 900)
    lesson = engine.decoder()
    page = Page(lesson, layer=LAYER, step="sum", head=0)
    for query in (5, 3):
        if query != 5:
            browser.script(f"pageTests.all('.arcs .query')[{query}].dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        for head, drawn in enumerate(browser.script(DRAWN)):
            shares = [share for share in row_of(lesson, "P", head, query) if share > 0]
            expect_equal(len(drawn["shares"]), len(shares), f"head {head}, query {query}: lines")
            for width, share in zip(drawn["shares"], shares):
                expect(math.isclose(width, 12 * share, rel_tol=1e-9) or width == 0.4, f"head {head}: {width} for {share}")
            wishes = [-x for x, share in zip(row_of(lesson, "dP", head, query), row_of(lesson, "P", head, query)) if share > 0]
            expect_equal((drawn["more"], drawn["less"]), (sum(x > 0 for x in wishes), sum(x <= 0 for x in wishes)),
                         f"head {head}, query {query}: wishes")
            expect_equal(drawn["chosen"], query, f"head {head}: the query that is marked")
    expect("cell=P.3" in page.call("addressNow") or page.cell_name().startswith("P[3,"), "the query is not in the panel")


def test_one_head_stands_alone_and_long_texts_have_no_lines():
    browser.resize(1440, 900)
    page = Page(engine.three_words(), step="sum", form="model.num_heads=1")
    page.call("forms")
    page.go(step="sum", form="model.num_heads=1")
    expect_equal(len(browser.script(DRAWN)), 1, "panels of one head")
