"""The pixels of the heat maps: the sign is in the hue, zero is the paper, the end of the scale has the full colour."""

import math

import engine
from page import Page, decoded
from report import expect

ROUNDING = 1e-12
ALIKE = 3  # two bytes of a colour may differ by this


def distance(a: list, b: list) -> float:
    return math.dist(a, b)


def likeness(zero: list, a: list, b: list) -> float:
    """The cosine between the ways from zero to two colours."""
    ways = [[x - z for x, z in zip(colour, zero)] for colour in (a, b)]
    return sum(x * y for x, y in zip(*ways)) / ((math.hypot(*ways[0]) or 1.0) * math.hypot(*ways[1]))


def largest_of(matrix: dict) -> float:
    return max((abs(x) for x in decoded(matrix["numbers"]) if math.isfinite(x)), default=0.0)


def expect_scales(matrices: list, where: str) -> None:
    """Each ends with the largest number of a matrix of the step, and holds its own."""
    ends = {largest_of(matrix) for matrix in matrices}
    for matrix in matrices:
        if matrix["isGradient"] and matrix["scale"] < ROUNDING:
            continue  # as wide as rounding
        expect(matrix["scale"] in ends and matrix["scale"] >= largest_of(matrix),
               f"{where}, {matrix['key']}: the scale ends at {matrix['scale']}, its largest is {largest_of(matrix)}")


def expect_coloured(matrix: dict, cells: list, colours: dict, where: str) -> None:
    numbers = decoded(matrix["numbers"])
    if matrix["isGradient"] and largest_of(matrix) < ROUNDING:
        return  # a zero but for rounding is painted as one
    zero, hidden = colours["zero"], colours["hidden"]
    depths = {1.0: [], -1.0: []}  # by sign
    for number, colour in zip(numbers, cells):
        end = colours["share"] if matrix["hue"] == "share" else colours["positive" if number > 0 else "negative"]
        if not math.isfinite(number):
            expect(distance(colour, hidden) <= ALIKE, f"{where}: {number} is {colour}, hidden {hidden}")
        elif number == 0.0:
            expect(distance(colour, zero) <= ALIKE, f"{where}: zero is {colour}, the paper {zero}")
        else:
            depths[math.copysign(1.0, number)].append((abs(number) / matrix["scale"], distance(colour, zero)))
            if matrix["hue"] != "share" and abs(number) > 0.2 * matrix["scale"]:
                other = colours["negative" if number > 0 else "positive"]
                is_right = likeness(zero, colour, end) > likeness(zero, colour, other)
                expect(is_right, f"{where}: {number} is {colour}, {end} is wanted rather than {other}")
            if abs(number) == matrix["scale"]:
                expect(distance(colour, end) <= ALIKE, f"{where}: the end of the scale, {number}, is {colour}, not {end}")
    for own in depths.values():
        expect_deeper(own, where)


def expect_deeper(depths: list, where: str) -> None:
    """A larger number never has a paler colour."""
    depths.sort()
    for (smaller, a), (larger, b) in zip(depths, depths[1:]):
        expect(b >= a - ALIKE, f"{where}: at {larger:.3f} of the scale it is paler than at {smaller:.3f}")


def test_the_colour_of_a_cell_tells_sign_and_size():
    kinds = set()
    for lesson in (engine.three_words(), engine.decoder()):
        for theme in ("light", "dark"):
            page = Page(lesson, theme=theme)
            states = [{"theme": theme, "step": step} for step in page.steps()]
            colours = page.call("namedColours")
            for state, (matrices, painted) in zip(states, page.tour(states, "numberedMatrices", "cellColours")):
                expect_scales(matrices, f"{lesson.name}, {state['step']}")
                for matrix, paint in zip(matrices, painted):
                    matrix["hue"] = paint["hue"]
                    where = f"{lesson.name}, {theme}, {state['step']}, {matrix['key']}"
                    expect_coloured(matrix, paint["cells"], colours, where)
                    numbers = decoded(matrix["numbers"])
                    kinds |= {paint["hue"], *(str(x) for x in numbers if x == 0.0 or x == -math.inf)}
    expect({"share", "signed", "0.0", "-inf"} <= kinds, f"seen were only {kinds}")


def test_what_is_hidden_has_a_colour_of_its_own():
    page = Page(engine.three_words(), step="scores", exercise="Z.2.1", cell="Z.2.1")
    colours = page.call("namedColours")
    paints = {paint["key"]: paint["cells"] for paint in page.call("cellColours")}
    columns = next(matrix["columns"] for matrix in page.matrices() if matrix["key"] == "Z")
    for at, colour in enumerate(paints["Z"]):
        is_hidden = distance(colour, colours["hidden"]) <= ALIKE
        expect(is_hidden == (at == 2 * columns + 1), f"cell {divmod(at, columns)}: {colour}")
