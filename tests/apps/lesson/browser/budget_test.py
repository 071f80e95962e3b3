"""Softmax's backward as a budget: the areas between the wishes and their average are −dS."""
import math

import browser
import engine
from page import Page, decoded
from report import expect, expect_equal

DRAWN = """const box = (each) => ["x", "y", "width", "height"].map((name) => Number(each.getAttribute(name)));
return {
  told: document.querySelector(".budget p").textContent,
  pieces: pageTests.all(".budget rect").map((each) => ({box: box(each), grows: each.classList.contains("more")})),
  changes: pageTests.all(".budget .change").map((each) => each.textContent),
};"""


def rows_of(page: Page, row: int) -> tuple:
    """Of P, dP and dS."""
    matrices = {matrix["key"]: matrix for matrix in page.call("numberedMatrices")}
    columns = matrices["P"]["columns"]
    return tuple(decoded(matrices[key]["numbers"])[row * columns:(row + 1) * columns] for key in ("P", "dP", "dS_m"))


def expect_areas(page: Page, row: int, where: str) -> None:
    shares, wishes, changes = rows_of(page, row)
    drawn = browser.script(DRAWN)
    seen = [j for j, share in enumerate(shares) if share > 0]
    if not expect_equal(len(drawn["pieces"]), len(seen), f"{where}: pieces"):
        return
    areas = [(1 if piece["grows"] else -1) * (piece["box"][2] + 1) * piece["box"][3] for piece in drawn["pieces"]]
    largest = max(range(len(seen)), key=lambda i: abs(areas[i]))
    unit = -changes[seen[largest]] / areas[largest] if areas[largest] else 0
    for area, j in zip(areas, seen):
        expect(abs(area * unit + changes[j]) < 0.02 * abs(changes[seen[largest]]) + 1e-12,
               f"{where}, key {j}: the area is {area * unit}, −dS is {-changes[j]}")
    widths = [piece["box"][2] + 1 for piece in drawn["pieces"]]
    for width, j in zip(widths, seen):
        expect(math.isclose(width / sum(widths), shares[j], abs_tol=0.02), f"{where}, key {j}: the width is {width}")
    average = -sum(p * d for p, d in zip(shares, wishes))
    expect(f"= {average:.3g}".replace("-", "−")[:6] in drawn["told"], f"{where}: {average} is not in {drawn['told']!r}")


def test_areas_of_the_budget_are_the_changes_of_the_scores():
    browser.resize(1440, 900)
    page = Page(engine.decoder(), step="softmax", head=1)
    for row in (1, 3, 5):
        page.go(step="softmax", head=1, cell=f"P.{row}.0")
        expect_areas(page, row, f"row {row}")
    page.go(step="softmax", head=1, cell="P.5.0", scale=0)
    expect_areas(page, 5, "without the scale")


def test_the_budget_follows_the_chosen_cell_and_hides_in_an_exercise():
    browser.resize(1440, 900)
    page = Page(engine.three_words(), step="softmax")
    before = browser.script(DRAWN)
    expect_equal(len(before["pieces"]), 3, "keys of the last query")
    browser.script("pageTests.all('.suggestions button')[2].click()")
    cell = browser.script("return document.getElementById('cell-name').textContent")
    row = int(cell.split("[")[1].split(",")[0])
    expect_equal(len(browser.script(DRAWN)["pieces"]), row + 1, f"keys that the query of {cell} sees")
    page.go(step="softmax", cell="dS_m.2.1", exercise="dS_m.2.1")
    expect(not browser.script("return document.querySelector('.budget')"), "an exercise shows the budget, and its answer")
