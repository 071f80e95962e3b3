"""A planted mistake turns red what it spoils, and nothing else. What is spoilt is told by the engine's numbers:
the forward pass is right, so that its gradients are the true ones."""

import arithmetic
import engine
from matrices_test import expected_numbers, is_in_document
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


def gradients_of(lesson, place: dict, matrices: list):
    """Of each gradient: (matrix, the cell that is farthest from the engine's, how far, the largest number)."""
    for matrix in matrices:
        if not matrix["isGradient"] or not is_in_document(lesson, matrix["value"]):
            continue
        numbers = decoded(matrix["numbers"])
        true = expected_numbers(lesson.document, matrix, place)
        apart = [abs(a - b) for a, b in zip(numbers, true)]
        largest = max(abs(x) for x in (*true, *numbers)) or 1.0
        worst = max(range(len(apart)), key=apart.__getitem__)
        row, column = divmod(worst, matrix["columns"])
        cell = {"key": matrix["key"], "row": row, "column": column}
        yield matrix, cell, apart[worst] / largest, largest


def test_each_mistake_turns_red_what_it_spoils_and_only_that():
    lesson = engine.decoder()
    noise = 1e-12 * lesson.document.largest_gradient
    page = Page(lesson)
    place = {"head": 0, "heads": page.heads(LAYER)}
    for mistake, (must_be_wrong, must_be_right) in SIGNATURES.items():
        wrong, right, asked = set(), set(), []
        states = [{"layer": LAYER, "head": 0, "step": step, "break": mistake} for step in page.steps()]
        for state, matrices in zip(states, page.tour(states, "numberedMatrices")):
            for matrix, cell, apart, largest in gradients_of(lesson, place, matrices):
                if largest < noise:
                    continue  # the gradient of a key's bias is 0, but for rounding
                is_wrong = apart > DIFFERENT
                where = f"{mistake}, {state['step']}, {matrix['key']}, wrong by {apart:.1e}"
                expect_equal(matrix["isWrong"], is_wrong, f"{where}: marked in red")
                if is_wrong or matrix["key"] in must_be_right:
                    asked.append((state, cell, "bad" if is_wrong else "good", where))
                (wrong if is_wrong else right).add(matrix["key"])
        expect_verdicts(page, asked)
        expect_shares_marked(page, states, mistake)
        expect(must_be_wrong <= wrong, f"{mistake}: {must_be_wrong - wrong} should be wrong, {wrong} are")
        expect(must_be_right <= right, f"{mistake}: {must_be_right - right} should be right, {right} are")


def test_red_is_what_changed_of_every_matrix():
    """Of all gradients on the page, whether or not a document has them: the numbers without the mistake tell."""
    for lesson in (engine.three_words(), engine.rotary(), engine.encoder_decoder()):
        noise = 1e-12 * lesson.document.largest_gradient
        page = Page(lesson)
        for layer in page.layers():
            page.go(layer=layer)
            states = [{"layer": layer, "step": step} for step in page.steps()]
            right = page.tour(states, "numberedMatrices")
            for mistake in page.call("mistakes"):
                planted = [{**state, "break": mistake} for state in states]
                for state, before, after in zip(planted, right, page.tour(planted, "numberedMatrices")):
                    for a, b in zip(before, after):
                        expect_red_if_changed(f"{lesson.name}, {state}, {a['key']}", a, b, noise)


def expect_red_if_changed(where: str, before: dict, after: dict, noise: float) -> None:
    a, b = decoded(before["numbers"]), decoded(after["numbers"])
    apart = max((abs(x - y) for x, y in zip(a, b) if x != y), default=0.0)
    largest = max(max(map(abs, a), default=0.0), max(map(abs, b), default=0.0))
    if before["isGradient"] and apart > max(DIFFERENT * largest, noise):
        expect(after["isWrong"], f"{where}: the numbers changed, and it is not red")
    else:
        expect(not after["isWrong"], f"{where}: it is red, and its numbers are as before")


def expect_shares_marked(page: Page, states: list, mistake: str) -> None:
    """Those whose cell by differences is another are in red, and the others are not."""
    for state in states:
        if state["step"] not in ("query", "key", "value", "ledger"):
            continue
        page.go(**state)
        for matrix in page.matrices():
            if not matrix["key"].startswith("dX_") or matrix["key"] == "dX_in" or matrix["key"].endswith(",h"):
                continue
            last = {"key": matrix["key"], "row": matrix["rows"] - 1, "column": matrix["columns"] - 1}
            [shown] = page.cells([last])
            where = f"{mistake}, {state['step']}, {matrix['key']}"
            expect(shown["verdict"] in ("good", "bad"), f"{where}: the verdict is {shown['verdict']}")
            expect_equal(matrix["isWrong"], shown["verdict"] == "bad", f"{where}: marked in red")


def expect_verdicts(page: Page, asked: list) -> None:
    """[(state, cell, verdict, where)]"""
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


def test_without_a_mistake_all_marks_are_good():
    for lesson in (engine.decoder(), engine.encoder_decoder(), engine.rotary()):
        page = Page(lesson)
        for layer in page.layers():
            states = [{"layer": layer, "step": step} for step in page.steps()]
            for state, bad in zip(states, page.tour(states, "badMarks")):
                expect(not bad, f"{lesson.name}, {layer}, {state['step']}: {bad}")
