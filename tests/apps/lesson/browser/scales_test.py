"""What is of one quantity within a step is drawn on one scale, whose ends are printed."""

import math

import arithmetic
import browser
import engine
from page import Page, decoded
from report import expect, expect_equal, expect_near

# By step: matrices of one quantity, and those that are of another.
SAME = {
    "scale": (["Z", "S"], ["dZ", "dS"]),
    "mask": (["S", "Sm"],),
    "residual": (["Xin", "Y", "R"], ["dXin", "dY", "dR"]),
    "ledger": (["dX", "dXq", "dXk", "dXv"],),
    "sum": (["V", "O"], ["dV", "dO"]),
}
OTHERS = {"softmax": (["Sm", "E"], ["E", "P"], ["Sm", "P"]), "sum": (["P", "V"], ["V", "dV"])}

LEGENDS = """
return Object.fromEntries([...document.querySelectorAll("main .matrix:has([role=grid])")].map((figure) => {
  const [from, to, ...rest] = [...figure.querySelectorAll(".legend span")].map((each) => each.textContent);
  const key = figure.querySelector("[role=grid]").dataset.matrix;
  return [key.replaceAll(/[_{},]/g, ""), { key, from, to, rest: rest.join(" ") }];
}));"""


def legends(page: Page, step: str) -> dict:
    page.go(step=step)
    return browser.script(LEGENDS)


def largest(page: Page, key: str) -> float:
    matrix = next(each for each in page.call("numberedMatrices") if each["key"] == key)
    return max(abs(x) for x in decoded(matrix["numbers"]) if math.isfinite(x))


def ends(legend: dict) -> tuple:
    return legend["from"], legend["to"]


def test_matrices_of_one_quantity_have_one_scale_and_say_so():
    page = Page(engine.decoder())
    for step, groups in SAME.items():
        shown = legends(page, step)
        for group in groups:
            if not expect(set(group) <= set(shown), f"{step}: {group} of {list(shown)}"):
                continue
            most = max(largest(page, shown[key]["key"]) for key in group)
            for key in group:
                legend = shown[key]
                expect_equal(ends(legend), ends(shown[group[0]]), f"{step}: the scales of {key} and {group[0]}")
                expect_near(arithmetic.number(legend["to"]), most, 0.01, f"{step}: the end of the scale of {key}")
                for other in set(group) - {key}:
                    name = shown[other]["key"].replace("_", "")
                    expect(name in legend["rest"].replace("_", ""), f"{step}, {key}: {legend['rest']!r} without {name}")


def test_matrices_of_other_quantities_have_other_scales():
    page = Page(engine.decoder())
    for step, pairs in OTHERS.items():
        shown = legends(page, step)
        for a, b in pairs:
            if largest(page, shown[a]["key"]) != largest(page, shown[b]["key"]):
                expect(ends(shown[a]) != ends(shown[b]), f"{step}: {a} and {b} are both on {ends(shown[a])}")
            expect(b not in shown[a]["rest"].split(), f"{step}: {a} says {shown[a]['rest']!r}")


def test_a_colour_means_one_number_in_all_matrices_of_a_scale():
    """Read from what is painted: the middle of a cell in Z, and of a cell in S."""
    Page(engine.three_words(), step="scale")
    pixels = browser.script("""
        const { lesson, steps } = document.getElementById("lesson").app;
        return ["Z", "S"].map((key) => {
          const map = steps.mapOf(key);
          const { grid } = map.matrix;
          const context = map.pixels().getContext("2d");
          return [...Array(grid.rows * grid.columns).keys()].map((at) => {
            const [row, column] = [Math.floor(at / grid.columns), at % grid.columns];
            return [map.matrix.number(row, column), [...context.getImageData(column, row, 1, 1).data]];
          });
        });""")
    depth = {key: sum(abs(255 - level) for _, colour in cells for level in colour) for key, cells in zip("ZS", pixels)}
    expect(depth["S"] < 0.8 * depth["Z"], f"S, which is Z / √2, is as deep as Z: {depth}")


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
            is_plain = most == 0 or 1e-3 <= most < 1e5
            expect_equal(matrix["power"] == "", is_plain, f"{where}: has no power of ten, with {most} as its largest")
            plain, powers = plain + is_plain, powers + (not is_plain)
            power = 10.0 ** int(matrix["power"].replace("× 10", "").replace("−", "-") or 0)
            for text, number in matrix["cells"]:
                expect_near(arithmetic.number(text) * power, number, 0.006 * abs(number), f"{where}: {text}")
    expect(plain > 20 and powers > 0, f"{plain} matrices without, {powers} with a power of ten")
