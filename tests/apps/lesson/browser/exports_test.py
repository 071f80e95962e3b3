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


def script_name(key: str) -> str:
    """Of the matrix with that key in a script of NumPy."""
    return re.sub("[,∘−]", "_", key.replace("ℓ", "loss").replace("Kt", "K"))


def names_made_by(script: str, rule: str) -> set:
    """What a rule should make, as it may be called in the script."""
    left = script_name(re.sub(r" \[[^]]*\]|[{}]", "", rule.split(" = ")[0]).replace("-", "−"))
    return {"M", left} if left == "M_ij" else {left, left.removesuffix("_h"), left.replace("x̂", "x_hat")}


def is_copy(script: str, name: str, values: dict) -> bool:
    """Whether a script makes a matrix of one with the same numbers of the tape alone: "dY = dR" does not say where
    either is from."""
    lines = [line for line in script.splitlines() if line.startswith(f"{name}_ = ") and "np.full(" not in line] or [""]
    if not expect(len(lines) == 1, f"{name} is made twice: {lines}"):
        return False
    [line] = lines
    return values[name] in [values.get(other) for other in re.findall(r"[A-Za-z_]\w*", line.partition(" = ")[2])]


def values_of(steps: list) -> dict:
    """The values of the tape of their matrices; of what the page itself derives the name."""
    found = {}
    for _, _, (matrices, _) in steps:
        for matrix in matrices:
            name = script_name(matrix["key"])
            found.setdefault(name, matrix["value"] if matrix["value"] >= 0 else name)
    return found


def expect_rules(page: Page, **state) -> None:
    """The script of each step computes its matrices by each of the rules that stand above them. There is a rule for each
    gradient that the page shows, on one of its layers."""
    layers = [[look for look in page.every_step("matrices", "numpyScript", layer=layer, head=page.heads(layer) - 1, **state)
               if look[2][1]] for layer in page.layers()]
    everywhere = values_of(sum(layers, []))
    ruled, shown = set(), {}
    for steps in layers:
        for step in steps:
            where, _, (matrices, script) = step
            values = {**everywhere, **values_of(steps), **values_of([step])}
            gradients = [matrix["key"] for matrix in matrices if matrix["isGradient"]]
            shown.update({values[script_name(key)]: f"{where}, {key}" for key in gradients})
            computed = expect_computed(where, script["text"])
            ruled |= {values[name] for name in computed if not is_copy(script["text"], name, values)}
    is_from_above = "part" in page.lesson.document.meta  # what comes into a part of a model
    for value, where in shown.items():
        expect(value in ruled or is_from_above, f"{where}: no rule makes it")


def expect_computed(where: str, script: str) -> set:
    """The names of the matrices that are."""
    names = run_script(script, where)
    computed = {name for name in names if name + "_" in names}
    for name in computed:
        expect_reproduced(names[name], names[name + "_"], f"{where}: {name}")
    for rule in script.splitlines()[1].removeprefix("# ").split("; "):
        is_made = names_made_by(script, rule) & {*computed, "x_hat", "dx_hat", "M"}
        expect(is_made, f"{where}: nothing is computed by {rule}")
    return computed


def test_the_script_of_every_step_computes_its_numbers_by_the_rules_that_are_shown():
    """And every gradient is made by one."""
    examples = [engine.example(name) for name in ("blackboard", "bare")]
    for lesson in [*engine.all_lessons(), engine.text_classifier(), hostile(), *examples, *engine.of_several_lengths()]:
        expect_rules(Page(lesson))


def test_the_rules_follow_every_form_and_every_switch():
    switches = [{"causal": 0}, {"scale": 0}, {"bias": 0}, {"residual": 0}, {"window": 1}]
    for lesson in (engine.classifier(), engine.decoder()):
        page = Page(lesson)
        for switched in switches:
            expect_rules(page, **switched)
    for form in page.call("forms"):
        expect_rules(page, form=form)


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
