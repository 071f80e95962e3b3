"""Queries and keys as arrows: what they show is Q, K and dQ, and moving a tip moves the numbers."""
import math

import browser
import engine
from page import Page, decoded
from report import expect, expect_equal

DRAWN = """const ends = (line) => ["x1", "y1", "x2", "y2"].map((name) => Number(line.getAttribute(name)));
return {
  arrows: pageTests.all(".geometry .arrow").map(ends),
  pull: pageTests.all(".geometry .pull").map(ends)[0],
  told: document.querySelector(".geometry p")?.textContent ?? "",
  names: pageTests.all(".geometry text").map((each) => each.textContent),
};"""

MOVE = """const tip = pageTests.all(".geometry circle")[arguments[0]];
tip.focus();
tip.dispatchEvent(new KeyboardEvent("keydown", {key: arguments[1], bubbles: true}));"""


def matrices_of(page: Page) -> dict:
    return {matrix["key"]: (matrix["rows"], matrix["columns"], decoded(matrix["numbers"]))
            for matrix in page.call("numberedMatrices")}


def test_arrows_are_rows_of_queries_and_columns_of_keys():
    page = Page(engine.three_words(), step="scores", cell="Z.2.1")
    drawn, found = browser.script(DRAWN), matrices_of(page)
    (rows, _, q), (_, columns, k) = found["Q"], found["Kt"]
    tips = [q[2 * i:2 * i + 2] for i in range(rows)] + [(k[j], k[columns + j]) for j in range(columns)]
    expect_equal(len(drawn["arrows"]), len(tips), "arrows")
    scales = set()
    for (x1, y1, x2, y2), (x, y) in zip(drawn["arrows"], tips):
        length = math.hypot(x, y)
        scales.add(round(math.hypot(x2 - x1, y2 - y1) / length, 3))
        expect(abs((x2 - x1) * y + (y2 - y1) * x) < 1e-6 * length, f"the arrow of {x, y} points elsewhere: {x2 - x1, y2 - y1}")
    expect_equal(len(scales), 1, "arrows have one scale")
    scale = scales.pop()
    x1, y1, x2, y2 = drawn["pull"]
    dq = found["dQ"][2][4:6]
    pull = ((x2 - x1) / scale, (y1 - y2) / scale)
    expect(abs(pull[0] + dq[0]) < 1e-3 and abs(pull[1] + dq[1]) < 1e-3, f"the pull is {pull}, dQ is {dq}")
    z = found["Z"][2][2 * columns + 1]
    expect(f"{abs(z):.3g}" in drawn["told"], f"the score is {z}, it says {drawn['told']!r}")
    expect_equal(drawn["names"], ["I", "have", "a"] * 2, "names")


def test_a_tip_is_moved_by_keys_and_the_scores_follow():
    page = Page(engine.three_words(), step="scores", cell="Z.2.1")
    before = matrices_of(page)
    browser.script(MOVE, 2, "ArrowUp")
    after = matrices_of(page)
    q = after["Q"][2][4:6]
    expect(q[1] > before["Q"][2][5] and q[0] == before["Q"][2][4], f"the query of the last token is {q}")
    k, columns = after["Kt"][2], after["Kt"][1]
    for j in range(columns):
        score = q[0] * k[j] + q[1] * k[columns + j]
        expect(math.isclose(after["Z"][2][2 * columns + j], score, rel_tol=1e-12), f"Z[2,{j}] stays behind")
    expect("edit=" in page.call("addressNow"), "the address does not have the edit")
    browser.script(MOVE, 2, "ArrowUp")
    expect(matrices_of(page)["Q"][2][5] > q[1], "a second key does nothing")


def test_wider_heads_have_no_plane():
    Page(engine.decoder(), step="scores")
    expect(not browser.script("return document.querySelector('.geometry')"), "a plane for heads of four numbers")
