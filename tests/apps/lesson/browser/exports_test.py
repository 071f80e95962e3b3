"""What the page saves: a matrix as CSV, a step as a script of NumPy. Each is read as other programs read it, and has the
numbers of the page."""

import contextlib
import csv
import io
import math
import re

import arithmetic
import engine
from page import Page, decoded
from report import expect, expect_equal, is_near

SHORT = 0.006  # three digits of a number


def is_short_for(text: str, number: float) -> bool:
    found = arithmetic.number(text)
    return found == number or math.isnan(found) and math.isnan(number) or abs(found - number) <= SHORT * abs(number)


def names_in(lesson) -> list:
    """Of the tokens, as the page writes them."""
    signs = {" ": "␣", "\n": "⏎", "\t": "⇥"}
    return [signs.get(token, token) for token in lesson.document.meta["texts"]["tokens"]]


def in_a_table(name: str) -> str:
    """With an apostrophe where a spreadsheet would compute it."""
    return f"'{name}" if name[0] in "=+-@\t\r" else name


def expect_table(text: str, matrix: dict, names, where: str) -> None:
    """All digits of every number."""
    heads, *lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    expect_equal((len(lines), len(heads) - 1), (matrix["rows"], matrix["columns"]), f"{where}: its size")
    expect_equal([float(text) for _, *texts in lines for text in texts], list(matrix["numbers"]), where)
    if names:
        names = [in_a_table(name) for name in names]
        expect({"'=", "'+", "'-", "'@"} <= set(names), f"{where}: {names}")
        expect_equal((heads[1:], [line[0] for line in lines]), (names, names), f"{where}: the names")


def hostile() -> engine.Lesson:
    """Its tokens are what is special in each of the formats, and what XML cannot write."""
    return engine.Lesson("saved-hostile", [engine.hostile_run(), "--prompt", "<&\",=+-@", "--target", "\n\x01'"])


def test_what_a_matrix_is_saved_as_has_its_numbers_and_names():
    for lesson in (engine.encoder_decoder(), hostile()):
        for where, _, (matrices, saves) in Page(lesson).every_step("numberedMatrices", "saves"):
            expect_equal(len(saves), len(matrices), f"{where}: what is saved")
            for matrix, saved in zip(matrices, saves):
                matrix["numbers"] = decoded(matrix["numbers"])
                names = names_in(lesson) if matrix["key"] == "P" and lesson.name == "saved-hostile" else None
                expect_table(saved["text"], matrix, names, f"{where}, {matrix['key']}")
                expect(re.fullmatch(r"[A-Za-z0-9_-]+\.csv", saved["name"]), f"{where}: no system bears {saved['name']}")


# Rules of what no single step shows: of all heads, of patches, of a class token, of the other sequence; and names.
NOT_OF_ONE_STEP = re.compile(r"Σ_h|patch_t|\[0\]|…|dW_\{E,enc\} \[v\]$")


def expect_rules(page: Page, where: str, script: dict) -> set:
    """The script of a step computes its matrices by each of the rules that stand above them. Their names."""
    if not script:
        return set()
    names = run_script(script["text"], where)
    computed = {name for name in names if name + "_" in names}
    for name in computed:
        expect_reproduced(names[name], names[name + "_"], f"{where}: {name}")
    for rule in script["text"].splitlines()[1].removeprefix("# ").split("; "):
        left = re.sub(r" \[[tv]\]|[{}]", "", rule.split(" = ")[0]).replace(",", "_").replace("x̂", "x_hat")
        left = {"ℓ": "loss", "M_ij": "M"}.get(left, left)
        is_made = {left, left + "t", left.removesuffix("_h")} & computed or left in names or left == "C" and "O" in computed
        expect(is_made or NOT_OF_ONE_STEP.search(rule) or has_no_tokens(page, rule), f"{where}: nothing is computed by {rule}")
    return computed


def has_no_tokens(page: Page, rule: str) -> bool:
    return "token_t" in rule and "class_token" in page.lesson.document.named


def test_the_script_of_every_step_computes_its_numbers_by_the_rules_that_are_shown():
    for lesson in engine.all_lessons() + [hostile(), engine.example("blackboard")]:
        page = Page(lesson)
        layer = page.layers()[-1]
        computed = set()
        for where, _, script in page.every_step("numpyScript", layer=layer, head=page.heads(layer) - 1):
            computed |= expect_rules(page, where, script)
        expect(len(computed) >= 30, f"{lesson.name}: NumPy computes only {computed}")


def run_script(text: str, where: str) -> dict:
    """What it defines. It prints the largest difference of each matrix that it computes."""
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, where, "exec"), names)
    for line in printed.getvalue().splitlines():
        name, difference = line.split()
        size = abs(names[name][abs(names[name]) < math.inf]).max(initial=1.0)
        expect(float(difference) <= 1e-12 * size, f"{where}: it says of {name} that it differs by {difference}")
    return {name: x for name, x in names.items() if hasattr(x, "shape") and not callable(x)}


def expect_reproduced(shown, made, what: str) -> None:
    if not expect_equal(made.shape, shown.shape, f"{what}: its shape"):
        return
    size = max([1.0, *(abs(x) for x in shown.flat if math.isfinite(x))])
    for a, b in zip(made.flat, shown.flat):
        if not expect(is_near(a / size, b / size, 1e-12), f"{what}: {a!r}, on the page {b!r}"):
            return
