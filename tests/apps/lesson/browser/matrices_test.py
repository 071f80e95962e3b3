"""Every number on the page is the engine's, and comes with arithmetic that gives it; no page asks for anything."""

import itertools
from functools import cache

import arithmetic
import browser
import engine
from page import Page, decoded, rows_of
from report import expect, expect_equal, expect_near, is_near

SAME = 1e-12  # what the page's own float64 may differ by, relative to 1 or the number


def places_of(page: Page) -> list:
    """Each layer; of one its first and last head, of several these by turns."""
    places = []
    for at, layer in enumerate(page.layers()):
        heads = page.heads(layer)
        shown = {0, heads - 1} if len(page.layers()) == 1 else {(heads - 1) * (at % 2)}
        places += [{"layer": layer, "head": head, "heads": heads} for head in sorted(shown)]
    return places


@cache
def walk(lesson) -> list:
    """Over a whole page: [(where, place, matrix)] of every step of every layer, with some cells of each matrix; on its
    way it looks at what every step must be."""
    browser.leave()
    page = Page(lesson)
    found, steps = [], set()
    for place in places_of(page):
        looks = page.every_step("wholeStep", "badMarks", "symbols", layer=place["layer"], head=place["head"])
        for where, state, (matrices, bad, symbols) in looks:
            expect(not bad, f"{where}: marked as wrong: {bad}")
            unknown = [name for name, is_known in symbols if not is_known]
            expect(not unknown, f"{where}: no meaning of {unknown}")
            found += [(f"{where}, {matrix['key']}", place, matrix) for matrix in matrices]
            steps.add(state["step"])
        browser.expect_quiet(lesson.page, f"{lesson.name}, {place}")
    expect(len(steps) >= 15, f"{lesson.name}: only the steps {steps}")
    return found


def cells_of(lesson):
    """(where, matrix, cell) of all sampled cells, with the number that the cell has in its matrix."""
    for where, _, matrix in walk(lesson):
        rows = matrix["cells"] and rows_of(matrix)
        for cell in matrix["cells"]:
            cell["in_matrix"] = rows[cell["row"]][cell["column"]]
            yield f"{where}[{cell['row']},{cell['column']}]", matrix, cell


def layout_of(document, value: int, matrix: dict, place: dict):
    """(row, column) -> the index of the element that a cell should show: how tensors are laid out, said here once
    more."""
    source = document.gradient_of.get(value, value)
    shape = document.shape(source)
    fact = document.values[source]
    names = [fact.get("name") or "", *fact.get("paths", [])]
    rows, columns, head = matrix["rows"], matrix["columns"], place["head"]
    if len(shape) == 4 and shape[0] == 1 and shape[2:] == [rows, columns]:  # [1, H, rows, columns]
        own = head * shape[1] // place["heads"]
        return lambda row, column: (own * rows + row) * columns + column
    if len(shape) == 3 and shape[1:] == [rows, columns] and shape[0] > 1:  # [H, rows, columns]
        return lambda row, column: (head * rows + row) * columns + column
    if len(shape) == 4 and shape[0] == 1:  # [1, T, H, D]: a head of it, perhaps turned, or all side by side
        _, _, heads, width = shape
        if columns == heads * width and heads > 1:
            return lambda row, column: row * columns + column
        own = head * heads // place["heads"]
        if matrix["key"].endswith("t"):
            return lambda row, column: (column * heads + own) * width + row
        return lambda row, column: (row * heads + own) * width + column
    if len(shape) == 1 and columns < shape[0]:  # a bias, of one head
        first = head * shape[0] // place["heads"] // columns * columns
        return lambda row, column: first + column
    is_map = len(shape) == 2 and names[0].endswith(".weight")
    if names[0] == "token_embedding.weight":  # a map where it makes the logits
        is_map = matrix["key"] in ("W", "dW")
    if is_map and [columns, rows] == shape:  # [out, in], as it multiplies: in x out
        return lambda row, column: column * shape[1] + row
    if is_map and rows == shape[1] and columns < shape[0]:  # the columns of one head
        first = head * shape[0] // place["heads"] // columns * columns
        return lambda row, column: (first + column) * shape[1] + row
    return lambda row, column: row * columns + column


def is_in_document(lesson, value: int) -> bool:
    return value >= 0 and lesson.document.is_number_known(value)


def expected_numbers(document, matrix: dict, place: dict) -> list:
    """Row by row."""
    index = layout_of(document, matrix["value"], matrix, place)
    numbers = document.numbers(matrix["value"])
    return [numbers[index(row, column)] for row in range(matrix["rows"]) for column in range(matrix["columns"])]


def test_every_matrix_equals_the_document():
    """In all its cells."""
    for lesson in engine.all_lessons():
        seen = set()
        for where, place, matrix in walk(lesson):
            numbers = decoded(matrix["numbers"])
            expect_equal(len(numbers), matrix["rows"] * matrix["columns"], where)
            seen.add(matrix["value"])
            if not is_in_document(lesson, matrix["value"]):
                continue  # a value between two that have a name: see the arithmetic
            for at, (number, wanted) in enumerate(zip(numbers, expected_numbers(lesson.document, matrix, place))):
                row, column = divmod(at, matrix["columns"])
                if not is_near(number, wanted, SAME):
                    expect(False, f"{where}[{row},{column}]: {number!r}, by the engine {wanted!r}")
                    break
        expect_all_named_are_seen(lesson, seen)


def expect_all_named_are_seen(lesson, seen: set) -> None:
    document = lesson.document
    for value, fact in enumerate(document.values):
        names = [name for name in [fact.get("name"), *fact.get("paths", [])] if name]
        if not names or fact["dtype"] != "f64" or fact["kind"] == "constant" or not fact["shape"]:
            continue
        expect(value in seen, f"{lesson.name}: {names[0]} is nowhere")
        gradient = fact.get("gradient")
        expect(gradient is None or gradient in seen, f"{lesson.name}: the gradient of {names[0]} is nowhere")


def test_rows_have_the_names_of_the_tokens_they_are_of():
    """A token's name stands where the arithmetic takes its row of the table."""
    for lesson, names in ((engine.decoder(), ["0", "1", "2", "=", "2", "1"]),
                          (engine.of_several_lengths()[0], ["c", "c"]),
                          (engine.text_classifier(), ["[class]", "1", "0", "1", "1", "0", "="])):
        page = Page(lesson, step="embedding")
        cells = page.cells([{"key": "A", "row": row, "column": 0} for row in range(len(names))])
        vocabulary = lesson.document.meta["vocabulary"]
        for name, cell in zip(names, cells):
            expect_equal(cell["place"], name, f"{lesson.name}, {cell['name']}: its place")
            token = vocabulary.index(name) if name != "[class]" else None
            operand = "c[0]" if token is None else f"W_E[{token},0]"
            titles = [operand["title"].split(" = ")[0] for operand in cell["operands"]]
            expect(operand in titles, f"{lesson.name}, {cell['name']}, of {name}: made of {titles}")
        page.go(step="softmax")
        last = len(names) - 1
        [cell] = page.cells([{"key": "P", "row": 0, "column": last}])
        expect_equal(cell["place"], f"{names[0]} → {names[last]}", f"{lesson.name}, {cell['name']}: its place")


def test_columns_of_logits_have_the_names_of_classes():
    page = Page(engine.of_several_lengths()[0], step="loss")
    names = [cell["place"] for cell in page.cells([{"key": "p", "row": 0, "column": column} for column in (0, 1)])]
    expect_equal(sorted(names), ["x", "y"], "names of classes")


def test_a_number_that_is_rounding_alone_is_shown_as_0_and_told_to_be_so():
    """In three words two terms of Q cancel but for the last bit."""
    page = Page(engine.three_words(), step="query")
    cells = page.cells([{"key": "Q", "row": row, "column": column} for row in range(3) for column in range(2)])
    noise = [cell for cell in cells if 0 < abs(arithmetic.number(cell["number"])) < 1e-14]
    expect(noise, "no number is rounding alone")
    for cell in cells:
        expect_equal(cell["reason"], "rounding" if cell in noise else None, f"{cell['name']}, {cell['number']}")
        expect_equal(cell["shown"] == "0", cell in noise, f"{cell['name']}, {cell['number']}: what is shown")


def test_the_arithmetic_shown_gives_the_cell():
    """What is computed has arithmetic, and what is not has none."""
    for lesson in engine.all_lessons():
        document = lesson.document
        for where, matrix, cell in cells_of(lesson):
            number = arithmetic.number(cell["number"])
            expect_equal(number, cell["in_matrix"], f"{where}: the number in the panel")
            computed = matrix["value"] < 0 or document.values[matrix["value"]]["kind"] == "computed"
            expect(bool(cell["arithmetic"]) == computed, f"{where}: the arithmetic is {cell['arithmetic']!r}")
            if cell["arithmetic"] is not None:
                expect_near(arithmetic.computed(cell["arithmetic"]), number, SAME, f"{where}: the arithmetic")
                expect_equal(cell["result"], "good", f"{where}: its mark")
            for operand in cell["operands"]:
                if not is_in_document(lesson, operand["value"]):
                    continue
                shown = arithmetic.number(operand["title"].rsplit(" = ", 1)[1])
                real = document.numbers(operand["value"])[operand["index"]]
                expect(is_near(shown, real, SAME), f"{where}: the operand {operand['title']} is {real!r}")


def test_derivatives_equal_finite_differences():
    """As well as in gradcheck: 1e-6 of the derivative, or 1e-8 of the largest of all. So do those of the paths by
    which a gradient comes: there is more than one of each sum."""
    for lesson in engine.all_lessons():
        document = lesson.document
        checked = telling = shares = 0
        for where, matrix, cell in cells_of(lesson):
            expect(cell["verdict"] != "bad", f"{where}: {cell['number']}, by differences {cell['numeric']}")
            if not matrix["isGradient"] or not matrix["key"].startswith("d"):  # P∘dP and p−y are on the way to one
                continue
            if matrix["key"].endswith((",h", ",g")):  # a head's part of a share, which the ledger has
                continue
            if not expect(cell["numeric"] is not None, f"{where}: no difference beside the derivative"):
                continue
            derivative, numeric = arithmetic.number(cell["number"]), arithmetic.number(cell["numeric"])
            allowed = max(1e-6 * abs(derivative), 1e-8 * max(1.0, document.largest_gradient))
            expect(abs(derivative - numeric) <= allowed, f"{where}: {derivative!r}, by differences {numeric!r}")
            expect_equal(cell["verdict"], "good", f"{where}: the verdict")
            checked += 1
            telling += abs(derivative) > 100 * allowed
            shares += matrix["value"] not in document.gradient_of
        expect(shares >= 9, f"{lesson.name}: only {shares} differences are of one path")
        expect(telling > checked / 3, f"{lesson.name}: only {telling} of {checked} differences tell anything")


def test_terms_say_what_they_mean_and_every_step_in_chinese_is_in_chinese():
    for lesson, language in itertools.product((engine.decoder(), engine.classifier()), ("zh", "en")):
        page = Page(lesson)
        for where, _, (_, latin, terms) in page.every_step("openSomeCell", "latinTexts", "terms", lang=language):
            expect(not latin or language == "en", f"{where}: not in Chinese: {latin}")
            empty = [term["name"] for term in terms if not term["meaning"]]
            expect(not empty, f"{where}: no meaning of {empty}")
            is_chinese = any("\u4e00" <= c <= "\u9fff" for term in terms for c in term["meaning"])
            expect(not terms or is_chinese == (language == "zh"), f"{where}: {terms}")
    page = Page(engine.decoder(), step="softmax")
    meanings = {term["name"]: term["meaning"] for term in page.call("terms")}
    expect(meanings.get("Scores", "").startswith("A number that says how well"), f"words of the softmax: {meanings}")
    page.call("blur")
    expect(browser.script("return document.querySelector('.tip').hidden"), "a tip stays when the focus is gone")


def test_an_empty_panel_offers_three_cells():
    page = Page(engine.three_words(), step="softmax")
    offered = browser.script("return pageTests.all('.suggestions button').map((each) => each.textContent)")
    expect_equal(len(offered), 3, "cells that are offered")
    for i, text in enumerate(offered):
        page.go(step="softmax", cell=None)
        browser.script(f"pageTests.all('.suggestions button')[{i}].click()")
        expect_equal(page.cell_name(), text.split(" = ")[0], "the cell that was offered")
