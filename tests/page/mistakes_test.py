"""A planted mistake turns red what it spoils, and nothing else. What is spoilt is told by the engine's numbers:
the forward pass is right, so that its gradients are the true ones."""

import arithmetic
import engine
from matrices_test import expected_number, is_in_document
from page import Page
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


def gradients_of(page: Page, place: dict):
    """Of each gradient on each step: (step, matrix, the cell that is farthest from the engine's, how far)."""
    document = page.lesson.document
    for step in page.steps():
        page.go(layer=place["layer"], step=step, **place["state"])
        for matrix in page.matrices():
            if not matrix["isGradient"] or not is_in_document(page.lesson, matrix["value"]):
                continue
            numbers = [arithmetic.number(text) for text in page.call("numbersOf", matrix["key"])]
            columns = matrix["columns"]
            true = [expected_number(document, matrix, place, *divmod(at, columns)) for at in range(len(numbers))]
            apart = [abs(a - b) for a, b in zip(numbers, true)]
            largest = max([abs(x) for x in true + numbers]) or 1.0
            worst = max(range(len(apart)), key=apart.__getitem__)
            row, column = divmod(worst, columns)
            cell = {"key": matrix["key"], "row": row, "column": column}
            yield step, matrix, cell, apart[worst] / largest, largest


def test_each_mistake_turns_red_what_it_spoils_and_only_that():
    lesson = engine.decoder()
    noise = 1e-12 * lesson.document.largest_gradient
    page = Page(lesson)
    for mistake, (must_be_wrong, must_be_right) in SIGNATURES.items():
        place = {"layer": LAYER, "head": 0, "heads": page.heads(LAYER), "state": {"break": mistake}}
        page.go(layer=LAYER, step="softmax", **place["state"])
        wrong, right = set(), set()
        for step, matrix, cell, apart, largest in gradients_of(page, place):
            if largest < noise:
                continue  # the gradient of a key's bias is 0, but for rounding
            is_wrong = apart > DIFFERENT
            where = f"{mistake}, {step}, {matrix['key']}, wrong by {apart:.1e}"
            expect_equal(matrix["isWrong"], is_wrong, f"{where}: marked in red")
            if is_wrong or matrix["key"] in must_be_right:
                [shown] = page.cells([cell])
                verdict = "bad" if is_wrong else "good"
                expect_equal(shown["verdict"], verdict, f"{where}: the verdict on {shown['name']}")
            (wrong if is_wrong else right).add(matrix["key"])
        expect(must_be_wrong <= wrong, f"{mistake}: {must_be_wrong - wrong} should be wrong, {wrong} are")
        expect(must_be_right <= right, f"{mistake}: {must_be_right - right} should be right, {right} are")


def test_a_mistake_is_chosen_from_a_list_and_told_in_words():
    page = Page(engine.decoder(), layer=LAYER, step="scores")
    found = page.call("mistakes")
    expect_equal(set(found), set(SIGNATURES), "the mistakes that can be chosen")
    page.call("chooseMistake", "scale")
    shown = page.call("mistakeNote")
    expect(shown and "dQ" in shown, f"the note says {shown!r}")
    expect("break=scale" in page.call("addressNow"), "the address does not tell it")


def test_without_a_mistake_all_marks_are_good():
    for lesson in (engine.decoder(), engine.encoder_decoder(), engine.rotary()):
        page = Page(lesson)
        for layer in page.layers():
            for step in page.steps():
                page.go(layer=layer, step=step)
                bad = page.call("badMarks")
                expect(not bad, f"{lesson.name}, {layer}, {step}: {bad}")
