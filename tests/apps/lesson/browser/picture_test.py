"""A Vision Transformer: what a query looks at lies over the picture's patches."""

import browser
import engine
from page import Page
from report import expect, expect_equal, expect_near

OVERLAY = """
return {
  patches: [...document.querySelectorAll("aside .looks_at [data-share]")].map((each) => ({
    row: Number(each.dataset.row), share: Number(each.dataset.share),
    depth: Number(each.getAttribute("fill-opacity")), isQuery: each.classList.contains("query"),
    said: each.querySelector("title").textContent, isClass: Boolean(each.closest(".class-token")),
    x: each.getBoundingClientRect().x, y: each.getBoundingClientRect().y })),
  most: document.querySelector("aside .looks_at .most")?.textContent,
};"""


def test_the_shares_over_the_patches_are_the_row_of_p():
    lesson = engine.classifier()
    document = lesson.document
    page = Page(lesson, step="softmax")
    layer = page.layers()[0]
    weights = document.named[f"{layer}.weights"]
    _, heads, rows, columns = document.shape(weights)
    for head in range(heads):
        page.go(step="softmax", head=head)
        for query in (0, 1, rows - 1):  # 0 is the class token
            page.cells([{"key": "P", "row": query, "column": 0}])
            found = browser.script(OVERLAY)
            patches = sorted(found["patches"], key=lambda each: each["row"])
            where = f"head {head}, query {query}"
            expect_equal([each["row"] for each in patches], list(range(columns)), f"{where}: rows")
            begin = (head * rows + query) * columns
            wanted = document.numbers(weights)[begin:begin + columns]
            for each, share in zip(patches, wanted):
                expect_near(each["share"], share, 1e-12, f"{where}: the share of row {each['row']}")
                expect_near(each["depth"] / max(p["depth"] for p in patches), share / max(wanted), 1e-6,
                            f"{where}: how deep row {each['row']} is")
                expect_equal(each["isQuery"], each["row"] == query, f"{where}: row {each['row']} is marked")
                expect_equal(each["isClass"], each["row"] == 0, f"{where}: row {each['row']} is no patch")
            expect_in_order([each for each in patches if not each["isClass"]], where)
            best = patches[wanted.index(max(wanted))]
            expect(best["said"].split(":")[0] in found["most"], f"{where}: {found['most']!r}, not {best['said']}")


def expect_in_order(patches: list, where: str) -> None:
    """Line by line, as the model reads them."""
    side = round(len(patches) ** 0.5)
    lines = [patches[at:at + side] for at in range(0, len(patches), side)]
    for line in lines:
        expect(len({each["y"] for each in line}) == 1, f"{where}: a line of patches is not straight")
        expect(sorted(each["x"] for each in line) == [each["x"] for each in line], f"{where}: not from left to right")
    tops = [line[0]["y"] for line in lines]
    expect(sorted(set(tops)) == tops, f"{where}: not from above")


def test_other_matrices_and_other_models_have_no_picture_of_shares():
    Page(engine.classifier(), step="query", cell="Q.1.0")
    expect_equal(browser.script(OVERLAY)["patches"], [], "for Q")
    Page(engine.decoder(), step="softmax", cell="P.1.0")
    expect_equal(browser.script(OVERLAY)["patches"], [], "without a picture")
