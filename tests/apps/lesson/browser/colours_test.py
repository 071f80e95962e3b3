"""The heat maps: the sign is in the hue, zero is the paper, the end of the scale has the full colour; what is of one
quantity within a step is drawn on one scale, whose ends are printed."""

import math

import arithmetic
import browser
import engine
from page import Page, decoded
from report import expect, expect_equal, expect_near

ROUNDING = 1e-12
ALIKE = 3  # two bytes of a colour may differ by this


def likeness(zero: list, a: list, b: list) -> float:
    """The cosine between the ways from zero to two colours."""
    ways = [[x - z for x, z in zip(colour, zero)] for colour in (a, b)]
    return sum(x * y for x, y in zip(*ways)) / ((math.hypot(*ways[0]) or 1.0) * math.hypot(*ways[1]))


def largest_of(matrix: dict) -> float:
    return max((abs(x) for x in decoded(matrix["numbers"]) if math.isfinite(x)), default=0.0)


def is_rounding(matrix: dict) -> bool:
    """A zero but for rounding is painted as one."""
    return matrix["isGradient"] and largest_of(matrix) < ROUNDING


def expect_coloured(matrix: dict, cells: list, hue: str, colours: dict, where: str) -> list:
    """[(hue and sign, share of the scale, depth of the colour)]"""
    zero, hidden, depths = colours["zero"], colours["hidden"], []
    for number, colour in zip(decoded(matrix["numbers"]), cells):
        depth = math.dist(colour, zero)
        end = colours["share"] if hue == "share" else colours["positive" if number > 0 else "negative"]
        if not math.isfinite(number):
            expect(math.dist(colour, hidden) <= ALIKE, f"{where}: {number} is {colour}, hidden {hidden}")
        elif number == 0.0:
            expect(depth <= ALIKE, f"{where}: zero is {colour}, the paper {zero}")
        else:
            depths.append(((hue, number > 0), abs(number) / matrix["scale"], depth))
            if hue != "share" and abs(number) > 0.2 * matrix["scale"]:
                other = colours["negative" if number > 0 else "positive"]
                is_right = likeness(zero, colour, end) > likeness(zero, colour, other)
                expect(is_right, f"{where}: {number} is {colour}, {end} is wanted rather than {other}")
            if abs(number) == matrix["scale"]:
                expect(math.dist(colour, end) <= ALIKE, f"{where}: the end of the scale, {number}, is {colour}, not {end}")
    return depths


def test_the_colour_of_a_cell_tells_sign_and_size():
    """A larger share of a scale never has a paler colour, in whatever matrix it is."""
    kinds = set()
    for lesson in (engine.three_words(), engine.decoder()):
        for theme in ("light", "dark"):
            page, depths = Page(lesson, theme=theme), []
            colours = page.call("namedColours")
            for where, _, (matrices, painted) in page.every_step("numberedMatrices", "cellColours", theme=theme):
                ends = {largest_of(matrix) for matrix in matrices}
                for matrix, paint in zip(matrices, painted):
                    numbers = decoded(matrix["numbers"])
                    kinds |= {paint["hue"], *(str(x) for x in numbers if x == 0.0 or x == -math.inf)}
                    if is_rounding(matrix):
                        continue
                    expect(matrix["scale"] in ends and matrix["scale"] >= largest_of(matrix),
                           f"{where}, {matrix['key']}: the scale ends at {matrix['scale']}, not {largest_of(matrix)}")
                    depths += expect_coloured(matrix, paint["cells"], paint["hue"], colours, f"{where}, {matrix['key']}")
            depths.sort()
            for (kind, smaller, a), (other, larger, b) in zip(depths, depths[1:]):
                expect(kind != other or b >= a - ALIKE,
                       f"{lesson.name}, {theme}, {kind}: at {larger:.3f} of the scale it is paler than at {smaller:.3f}")
    expect({"share", "signed", "0.0", "-inf"} <= kinds, f"seen were only {kinds}")


def test_what_is_hidden_has_a_colour_of_its_own():
    page = Page(engine.three_words(), step="scores", exercise="Z.2.1", cell="Z.2.1")
    hidden = page.call("namedColours")["hidden"]
    paints = {paint["key"]: paint["cells"] for paint in page.call("cellColours")}
    columns = len(page.rows()["Z"][0])
    for at, colour in enumerate(paints["Z"]):
        expect((math.dist(colour, hidden) <= ALIKE) == (at == 2 * columns + 1), f"cell {divmod(at, columns)}: {colour}")


# By step: matrices of one quantity, and those that are of another.
SAME = {
    "scale": (["Z", "S"], ["dZ", "dS"]),
    "mask": (["S", "Sm"],),
    "residual": (["Xin", "Y", "R"], ["dXin", "dY", "dR"]),
    "ledger": (["dX", "dXq", "dXk", "dXv"],),
    "sum": (["V", "O"], ["dV", "dO"]),
    "softmax": (),
}
OTHERS = {"softmax": (["Sm", "E"], ["E", "P"], ["Sm", "P"]), "sum": (["P", "V"], ["V", "dV"])}

LEGENDS = """
return Object.fromEntries([...document.querySelectorAll("main .matrix:has([role=grid])")].map((figure) => {
  const [from, to, ...rest] = [...figure.querySelectorAll(".legend span")].map((each) => each.textContent);
  const key = figure.querySelector("[role=grid]").dataset.matrix;
  const name = key.replaceAll(/[_{},]/g, "");
  return [name, { name, ends: [from, to], rest: rest.join(" ").replaceAll("_", "") }];
}));"""


def test_matrices_of_one_quantity_have_one_scale_and_say_so_and_others_have_others():
    page = Page(engine.decoder())
    for step, groups in SAME.items():
        page.go(step=step)
        shown = browser.script(LEGENDS)
        most = {key.translate(str.maketrans("", "", "_{},")): max(abs(x) for row in rows for x in row if math.isfinite(x))
                for key, rows in page.rows().items()}
        for group in groups:
            if not expect(set(group) <= set(shown), f"{step}: {group} of {list(shown)}"):
                continue
            for key in group:
                legend = shown[key]
                expect_equal(legend["ends"], shown[group[0]]["ends"], f"{step}: the scales of {key} and {group[0]}")
                expect_near(arithmetic.number(legend["ends"][1]), max(most[each] for each in group), 0.01,
                            f"{step}: the end of the scale of {key}")
                for other in set(group) - {key}:
                    expect(other in legend["rest"], f"{step}, {key}: {legend['rest']!r} without {other}")
        for a, b in OTHERS.get(step, ()):
            expect(most[a] == most[b] or shown[a]["ends"] != shown[b]["ends"], f"{step}: {a} and {b} are both on {shown[a]}")
            expect(b not in shown[a]["rest"].split(), f"{step}: {a} says {shown[a]['rest']!r}")


CELLS = """
const { lesson } = document.getElementById("lesson").app;
return [...document.querySelectorAll("main .matrix:has([role=grid])")].map((figure) => {
  const matrix = lesson.matrix(figure.querySelector("[role=grid]").dataset.matrix);
  const cells = [];
  for (let row = 0; row < matrix.grid.rows; row++) {
    for (let column = 0; column < matrix.grid.columns; column++) {
      const number = matrix.number(row, column);
      if (Number.isFinite(number)) cells.push([matrix.cellText(row, column), number]);
    }
  }
  return { key: matrix.key, power: figure.querySelector(".power").textContent, cells };
});"""


def test_small_numbers_have_their_power_of_ten_beside_the_matrix():
    plain, powers = 0, 0
    page = Page(engine.decoder())
    for step in page.steps():
        page.go(step=step)
        for matrix in browser.script(CELLS):
            where = f"{step}, {matrix['key']}"
            most = max((abs(number) for _, number in matrix["cells"]), default=0.0)
            is_plain = most < ROUNDING or 1e-3 <= most < 1e5
            expect_equal(matrix["power"] == "", is_plain, f"{where}: has no power of ten, with {most} as its largest")
            plain, powers = plain + is_plain, powers + (not is_plain)
            power = 10.0 ** int(matrix["power"].replace("× 10", "").replace("−", "-") or 0)
            for text, number in matrix["cells"]:
                if text != "0" or abs(number) > ROUNDING:
                    expect_near(arithmetic.number(text) * power, number, 0.006 * abs(number), f"{where}: {text}")
    expect(plain > 20 and powers > 0, f"{plain} matrices without, {powers} with a power of ten")
