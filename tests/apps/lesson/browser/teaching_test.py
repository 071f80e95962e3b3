"""The walk of docs/teaching.md, as a teacher takes it."""

import re

import browser
import engine
from page import Page
from report import expect, expect_equal

TEXT = (engine.ROOT / "docs/teaching.md").read_text(encoding="utf-8")
ADDRESSES = re.findall(r"\]\(lesson\.html(#[^)]+)\)", TEXT)


def part_of(address: str, name: str):
    found = re.search(rf"[#&]{name}=([^&]+)", address)
    return found and found.group(1)


def visited(page: Page, address: str) -> None:
    page.call("go", f"{address}&lang=en")


def test_every_address_of_the_walk_leads_where_it_says():
    page = Page(engine.three_words())
    expect(len(ADDRESSES) >= 9, f"only {len(ADDRESSES)} addresses")
    for address in ADDRESSES:
        expect(f"[{address}](" in TEXT, f"{address}: the text of the link is another")
        visited(page, address)
        expect_equal(page.call("shown")["step"], part_of(address, "step"), address)
        cell = part_of(address, "cell")
        if cell:
            key, row, column = cell.split(".")
            expect_equal(page.cell_name(), f"{key}[{row},{column}]", address)


def test_the_numbers_of_the_walk_are_those_of_the_page():
    """Each cell's own number stands in the sentence that its address begins."""
    page = Page(engine.three_words())
    walk = TEXT[:TEXT.index("## Going on") + 3]
    for sentence in re.findall(r"^- \[#.*?(?=^- |^## )", walk, re.M | re.S):
        [address] = re.findall(r"\]\(lesson\.html(#[^)]+)\)", sentence)
        visited(page, address)
        key, row, column = part_of(address, "cell").split(".")
        [cell] = page.cells([{"key": key, "row": int(row), "column": int(column)}])
        number = float(cell["number"].replace("−", "-"))
        told = [float(each.replace("−", "-")) for each in re.findall(r"−?\d\.\d+", sentence)]
        expect(key == "dQ" or any(abs(each - number) < 6e-4 for each in told), f"{address}: {number} is not among {told}")


def test_the_exercises_of_the_walk_have_these_answers():
    page = Page(engine.three_words())
    rows = re.findall(r"^\| \[(#[^\]]+)\].*\| (-?[\d.]+) \|$", TEXT, re.M)
    expect_equal(len(rows), 3, "exercises")
    for address, answer in rows:
        visited(page, address)
        page.call("fillIn", "#exercise-answer", answer)
        verdict = browser.script("return document.querySelector('aside .verdict').textContent")
        expect(verdict.startswith("✓"), f"{address}: {answer} is {verdict}")
    visited(page, rows[1][0])
    page.call("fillIn", "#exercise-answer", "-0.361")
    expect("row sum" in browser.script("return document.querySelector('aside .verdict').textContent"), "without the row sum")
