"""The examples that need no run: what each is made to show is on its page."""

import browser
import engine
from page import Page, decoded
from report import expect, expect_equal, expect_near


def numbers_of(page: Page, step: str, key: str) -> list[list[float]]:
    matrices = {matrix["key"]: matrix for matrix in page.tour([{"step": step}], "numberedMatrices")[0]}
    if not expect(key in matrices, f"{step} has no {key}, but {list(matrices)}"):
        return [[]]
    numbers, columns = decoded(matrices[key]["numbers"]), matrices[key]["columns"]
    return [numbers[at:at + columns] for at in range(0, len(numbers), columns)]


def test_the_blackboard_has_queries_keys_and_values_of_one_digit():
    page = Page(engine.example("blackboard"))
    expect(not {"norm", "second_norm", "final_norm"} & set(page.steps()), f"a norm among {page.steps()}")
    for step, key in (("query", "Q"), ("key", "K"), ("value", "V")):
        numbers = [each for row in numbers_of(page, step, key) for each in row]
        expect(any(abs(each) >= 0.1 for each in numbers), f"{key}: {numbers}")
        for each in numbers:
            expect_near(10 * each, round(10 * each), 1e-12, f"{key} has {each}")


def test_the_bare_form_is_softmax_of_the_inner_products():
    page = Page(engine.example("bare"))
    expect(not {"query", "key", "value", "scale", "mask"} & set(page.steps()), f"steps {page.steps()}")
    x = numbers_of(page, "residual", "X")
    scores = numbers_of(page, "scores", "Z")
    for i, row in enumerate(x):
        for j, other in enumerate(x):
            expect_near(scores[i][j], sum(a * b for a, b in zip(row, other)), 1e-12, f"Z[{i},{j}]")
    expect("ledger" in page.steps(), "the three roles of X have their ledger")


def test_thinking_machines_has_the_shares_of_the_figure():
    page = Page(engine.example("thinking-machines"))
    expect_equal(list(numbers_of(page, "scores", "Z")[0]), [28.0, 24.0], "q_1·k_1, q_1·k_2")
    expect_equal(list(numbers_of(page, "scale", "S")[0]), [14.0, 12.0], "divided by 2")
    for share, wanted in zip(numbers_of(page, "softmax", "P")[0], (0.88, 0.12)):
        expect_near(share, wanted, 0.005, "the share")


def test_no_example_says_anything_on_the_console():
    for name in ("blackboard", "bare", "thinking-machines"):
        page = Page(engine.example(name))
        page.tour([{"step": step} for step in page.steps()], "wholeStep")
        expect(not page.call("badMarks"), f"{name}: marked as wrong: {page.call('badMarks')}")
        said = browser.console()
        expect(not said, f"{name}: {said}")
