"""A planted mistake turns red what it spoils, and nothing else."""

import arithmetic
import engine
from page import Page, decoded
from report import expect, expect_equal

LAYER = "blocks.0.attention"
DIFFERENT = 1e-7  # of the largest number of a matrix

# By the address: which gradients must be wrong in the layer itself, and which right.
SIGNATURES = {
    "scale": ({"dQ", "dK"}, {"dP", "dV", "dO", "dW_o", "dW_v"}),
    "row_sum": ({"dQ", "dK"}, {"dP", "dV", "dO", "dW_o", "dW_v"}),
    "transpose": ({"dK"}, {"dQ", "dP", "dV", "dW_q", "dW_o"}),
    "overwritten": ({"dX", "dX_in"}, {"dQ", "dK", "dV", "dW_q", "dW_k", "dW_v"}),
    "residual": ({"dX_in"}, {"dQ", "dK", "dV", "dX"}),
    "mask": (set(), {"dQ", "dK", "dV", "dP", "dX", "dX_in"}),
}


def test_each_mistake_turns_red_what_it_spoils_and_only_that():
    """Of all gradients on the page, whether or not a document has them: the numbers without the mistake tell."""
    for lesson in (engine.decoder(), engine.rotary()):
        noise = 1e-12 * lesson.document.largest_gradient
        page = Page(lesson)
        for layer in page.layers():
            place = {"layer": layer, "head": 0}
            right = [found for _, _, found in page.every_step("numberedMatrices", **place)]
            for mistake in page.call("mistakes"):
                wrong, spared, asked = set(), set(), []
                planted = page.every_step("numberedMatrices", **place, **{"break": mistake})
                for (where, state, after), before in zip(planted, right):
                    for a, b in zip(before, after):
                        cell, size = spoilt(a, b, noise)
                        expect_equal(b["isWrong"], cell is not None, f"{where}, {a['key']}: it is red, and was spoilt")
                        if a["isGradient"] and size > noise:  # that of a key's bias is 0, but for rounding
                            (spared if cell is None else wrong).add(a["key"])
                        if a["key"].endswith(",h"):  # a head's part of a share, which the ledger has
                            continue
                        if cell or is_share(a) and state["step"] in ("query", "key", "value", "ledger"):
                            cell = cell or {"key": a["key"], "row": a["rows"] - 1, "column": a["columns"] - 1}
                            asked.append((state, cell, "bad" if b["isWrong"] else "good", where))
                expect_signature(lesson, layer, mistake, wrong, spared)
                if lesson.name == "decoder" and layer == LAYER:
                    expect_verdicts(page, asked)


def spoilt(before: dict, after: dict, noise: float) -> tuple:
    """The cell of a gradient that the mistake has changed most, or None; and the largest number."""
    a, b = decoded(before["numbers"]), decoded(after["numbers"])
    apart = [abs(x - y) if x != y else 0.0 for x, y in zip(a, b)]
    largest = max(map(abs, (*a, *b)), default=0.0)
    worst = max(range(len(apart)), key=apart.__getitem__, default=0)
    if not before["isGradient"] or not apart or apart[worst] <= max(DIFFERENT * largest, noise):
        return None, largest
    row, column = divmod(worst, before["columns"])
    return {"key": before["key"], "row": row, "column": column}, largest


def is_share(matrix: dict) -> bool:
    return matrix["key"].startswith("dX_") and matrix["key"] != "dX_in"


def expect_signature(lesson, layer: str, mistake: str, wrong: set, right: set) -> None:
    if lesson.name != "decoder" or layer != LAYER:
        return
    must_be_wrong, must_be_right = SIGNATURES[mistake]
    expect(must_be_wrong <= wrong, f"{mistake}: {must_be_wrong - wrong} should be wrong, {wrong} are")
    expect(must_be_right <= right, f"{mistake}: {must_be_right - right} should be right, {right} are")


def expect_verdicts(page: Page, asked: list) -> None:
    """By differences. [(state, cell, verdict, where)]"""
    found = page.visit([(state, [["cells", [cell]]]) for state, cell, _, _ in asked])
    for [[shown]], (_, _, verdict, where) in zip(found, asked):
        expect_equal(shown["verdict"], verdict, f"{where}: the verdict on {shown['name']}")


def test_a_mistake_in_a_tiny_derivative_is_wrong_all_the_same():
    """With keys of a billionth the derivatives of queries are as small."""
    lesson = engine.three_words()
    weight = lesson.document.named["blocks.0.attention.key.weight"]
    size = len(lesson.document.numbers(weight))
    edits = [f"{weight}.{i}={(i % 5 - 2) * 1e-9}" for i in range(size)]
    page = Page(lesson)
    for mistake, verdict in ((None, "good"), ("scale", "bad")):
        page.go(layer=LAYER, step="scores", edit=edits, **{"break": mistake})
        [shown] = page.cells([{"key": "dQ", "row": 2, "column": 0}])
        expect(0 < abs(arithmetic.number(shown["number"])) < 1e-8, f"{mistake}: dQ is {shown['number']}")
        expect_equal(shown["verdict"], verdict, f"{mistake}: {shown['number']}, by differences {shown['numeric']}")


def test_a_mistake_is_chosen_from_a_list_and_told_in_words():
    page = Page(engine.decoder(), layer=LAYER, step="scores")
    found = page.call("mistakes")
    expect_equal(set(found), set(SIGNATURES), "the mistakes that can be chosen")
    page.call("chooseMistake", "scale")
    shown = page.call("mistakeNote")
    expect(shown and "dQ" in shown and "How one knows it" in shown, f"the note says {shown!r}")
    for mistake in SIGNATURES:
        told = [page.tour([{"layer": LAYER, "step": "scores", "break": mistake, "lang": language}], "mistakeNote")[0]
                for language in ("en", "zh")]
        sign = "stays right" if mistake == "mask" else "How one knows it"
        expect(sign in told[0] and "knows_" not in told[1], f"{mistake}: {told}")
    page.go(layer=LAYER, step="scores", **{"break": "scale"})
    expect("break=scale" in page.call("addressNow"), "the address does not tell it")
