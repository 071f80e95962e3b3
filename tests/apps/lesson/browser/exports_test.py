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
from report import Skipped, expect, expect_equal, is_near

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


# What the scripts of every lesson compute, and those of a decoder besides.
ALWAYS = {"X", "V", "dW_v", "Z", "dQ", "dKt", "S", "dZ", "P", "O", "dP", "dV", "Y", "dW_o", "dC", "N", "U", "dW_1", "F",
          "dW_2", "dG", "H", "logits", "p", "dO", "G", "dU", "dlogits"}
DECODER_EXPORTS = {"A", "dY", "dF", "dX_in", "X_in", "Q", "dW_q", "db_q", "K", "dW_k", "db_k", "db_v", "S_m", "dS",
                   "dS_m", "db_o", "dX", "R", "dN", "db_1", "db_2", "X_out", "dH"}


def test_the_script_of_every_step_computes_its_numbers():
    try:
        import numpy
    except ImportError:
        raise Skipped("there is no NumPy (Debian: python3-numpy)") from None
    for lesson in engine.all_lessons() + [hostile(), engine.example("blackboard")]:
        page = Page(lesson)
        layer = page.layers()[-1]
        computed = set()
        steps = page.every_step("numberedMatrices", "numpyScript", layer=layer, head=page.heads(layer) - 1)
        for where, state, (matrices, script) in steps:
            if not matrices or state["step"] == "heads":
                expect(script is None, f"{where}: a script of nothing")
                continue
            if not expect(script, f"{where}: no script"):
                continue
            names = run_script(script["text"], where)
            for matrix in matrices:
                expect_same_array(numpy, names, matrix, where)
            for name in names:
                if name + "_" in names:
                    expect_reproduced(numpy, names[name], names[name + "_"], f"{where}: {name}")
                    computed.add(name)
        further_exports = {"decoder": DECODER_EXPORTS, "rotary": {"Q", "Q_0", "dQ_0", "dW_q", "K", "K_0", "dK_0"}}
        # The norms are those of the blocks; there are none.
        without = {"rotary": {"X", "H"}, "blackboard": {"X", "N", "H"}}.get(lesson.name, set())
        wanted = (ALWAYS | further_exports.get(lesson.name, set())) - without
        expect(wanted <= computed, f"{lesson.name}: NumPy does not compute {wanted - computed}")


def run_script(text: str, where: str) -> dict:
    """What it defines. It prints the largest difference of each matrix that it computes."""
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, where, "exec"), names)
    expect(printed.getvalue(), f"{where}: it computes nothing")
    for line in printed.getvalue().splitlines():
        name, difference = line.split()
        size = abs(names[name][abs(names[name]) < math.inf]).max(initial=1.0)
        expect(float(difference) <= 1e-12 * size, f"{where}: it says of {name} that it differs by {difference}")
    return {name: x for name, x in names.items() if hasattr(x, "shape") and not callable(x)}


def expect_same_array(numpy, names: dict, matrix: dict, where: str) -> None:
    if not matrix["key"].isidentifier() or not matrix["key"].isascii():
        return
    numbers = numpy.array(decoded(matrix["numbers"])).reshape(matrix["rows"], matrix["columns"])
    expect(matrix["key"] in names and numpy.array_equal(names[matrix["key"]], numbers, equal_nan=True),
           f"{where}: {matrix['key']} is not what the page shows")


def expect_reproduced(numpy, shown, made, what: str) -> None:
    if not expect_equal(made.shape, shown.shape, f"{what}: its shape"):
        return
    size = abs(shown[numpy.isfinite(shown)]).max(initial=1.0)
    for a, b in zip(made.flat, shown.flat):
        if not expect(is_near(a / size, b / size, 1e-12), f"{what}: {a!r}, on the page {b!r}"):
            return
