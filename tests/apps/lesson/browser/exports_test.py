"""What the page saves: a matrix as CSV, SVG and LaTeX, a step as a script of NumPy. Each is read as other programs
read it, and has the numbers of the page."""

import contextlib
import csv
import io
import math
import re
import xml.etree.ElementTree as ElementTree

import arithmetic
import engine
from hostile_test import text_run
from page import Page, decoded
from report import Skipped, expect, expect_equal, is_near

SVG = "{http://www.w3.org/2000/svg}"
SHORT = 0.006  # three digits of a number


def is_short_for(text: str, number: float) -> bool:
    found = arithmetic.number(text)
    return found == number or math.isnan(found) and math.isnan(number) or abs(found - number) <= SHORT * abs(number)


def hostile() -> engine.Lesson:
    """Its tokens are what is special in each of the formats, and what XML cannot write."""
    return engine.Lesson("saved-hostile", [text_run("hostile"), "--prompt", "<&\",=+-@", "--target", "\n\x01'"])


def saved_of(lesson, *kinds):
    """(where, matrix with its numbers, what its menu saves: all, or of one kind) of every step."""
    page = Page(lesson)
    states = [{"step": step} for step in page.steps()]
    for state, (matrices, saves) in zip(states, page.tour(states, "numberedMatrices", ["saves", *kinds])):
        expect_equal([each["key"] for each in saves], [each["key"] for each in matrices], state["step"])
        for matrix, saved in zip(matrices, saves):
            matrix["numbers"] = decoded(matrix["numbers"])
            yield f"{lesson.name}, {state['step']}, {matrix['key']}", matrix, saved


def names_in(lesson) -> list:
    """Of the tokens, as the page writes them."""
    signs = {" ": "␣", "\n": "⏎", "\t": "⇥"}
    return [signs.get(token, token) for token in lesson.document.meta["texts"]["tokens"]]


def in_a_table(name: str) -> str:
    """With an apostrophe where a spreadsheet would compute it."""
    return f"'{name}" if name[0] in "=+-@\t\r" else name


def test_saved_tables_have_all_digits_of_every_number():
    for lesson in (engine.encoder_decoder(), engine.classifier(), hostile()):
        for where, matrix, saved in saved_of(lesson, "CSV"):
            heads, *lines = csv.reader(io.StringIO(saved["CSV"]["text"], newline=""), strict=True)
            expect_equal((len(lines), len(heads) - 1), (matrix["rows"], matrix["columns"]), f"{where}: its size")
            found = [float(text) for _, *texts in lines for text in texts]
            expect_equal(found, list(matrix["numbers"]), where)
            if matrix["key"] == "P" and lesson.name == "saved-hostile":
                names = [in_a_table(name) for name in names_in(lesson)]
                expect({"'=", "'+", "'-", "'@"} <= set(names), f"{where}: {names}")
                expect_equal(heads[1:], names, f"{where}: the names of its columns")
                expect_equal([line[0] for line in lines], names, f"{where}: the names of its rows")


def test_saved_pictures_have_a_cell_for_every_number_and_no_markup_from_names():
    for lesson in (engine.decoder(), hostile()):
        for where, matrix, saved in saved_of(lesson, "SVG"):
            root = ElementTree.fromstring(saved["SVG"]["text"])
            cells = root.findall(f"{SVG}rect")
            texts = [each.text or "" for each in root.findall(f"{SVG}text")]
            size = matrix["rows"] * matrix["columns"]
            expect_equal(len(cells), size, f"{where}: how many cells")
            expect_equal(len(list(root)), len(cells) + len(texts), f"{where}: something else is in it")
            wrong = [(text, x) for text, x in zip(texts, matrix["numbers"]) if not is_short_for(text, x)]
            expect(not wrong, f"{where}: {wrong[:3]}")
            if matrix["key"] == "P" and lesson.name == "saved-hostile":
                # a control character cannot be in XML
                names = [name.replace("\x01", "\ufffd") for name in names_in(lesson)]
                expect_equal(texts[size:], names * 2, f"{where}: the names")


def test_saved_formulas_have_every_number_in_latex():
    for lesson in (engine.decoder(), hostile()):
        for where, matrix, saved in saved_of(lesson, "TeX"):
            shape = re.fullmatch(r"(\S.*) = \\begin\{bmatrix\}\n(.*)\n\\end\{bmatrix\}\n", saved["TeX"]["text"], re.S)
            if not expect(shape, f"{where}: {saved['TeX']['text'][:80]!r}"):
                continue
            name, body = shape.groups()
            expect_equal(name.count("{"), name.count("}"), f"{where}: the braces of {name}")
            expect(name.isascii(), f"{where}: LaTeX has no {name!r}")
            expect("e" not in body, f"{where}: a number as programs write it: {body[:80]!r}")
            lines = [line.split(" & ") for line in body.split(" \\\\\n")]
            sizes = {len(line) for line in lines}
            expect_equal((len(lines), sizes), (matrix["rows"], {matrix["columns"]}), f"{where}: its size")
            texts = [re.sub(r" \\cdot 10\^\{(-?\d+)\}", r"e\1", text) for line in lines for text in line]
            texts = [text.replace("\\infty", "inf") for text in texts]
            wrong = [(text, x) for text, x in zip(texts, matrix["numbers"]) if not is_short_for(text, x)]
            expect(not wrong, f"{where}: {wrong[:3]}")


def test_saved_files_have_names_that_every_system_bears():
    for where, _, saved in saved_of(engine.three_words()):
        for kind in ("CSV", "SVG", "TeX"):
            expect(re.fullmatch(rf"[A-Za-z0-9_-]+\.{kind.lower()}", saved[kind]["name"]),
                   f"{where}: {saved[kind]['name']}")


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
        page.go(layer=layer)
        states = [{"layer": layer, "step": step, "head": page.heads(layer) - 1} for step in page.steps()]
        computed = set()
        for state, (matrices, script) in zip(states, page.tour(states, "numberedMatrices", "numpyScript")):
            if not matrices or state["step"] == "heads":
                expect(script is None, f"{state}: a script of nothing")
                continue
            where = f"{lesson.name}, {state['step']}"
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
