// While no cell is chosen: three cells of the step that are worth a look.
import { buttonElement } from "../frame/elements.js";
import { element } from "../../../report/page/dom.js";
import { Expression } from "../ops/expression.js";
import { reasonForZero } from "../lesson/reasons.js";
import { say } from "../texts/say.js";

const mostTried = 40;
const mostCells = 5000; // of a matrix, that are looked through
const tellingReasons = ["masked", "hidden", "one_key", "key_bias", "saturated", "switched_off", "not_in_text"];

export function suggestions(app) {
  const { lesson } = app;
  const matrices = lesson.allMatrices().filter((matrix) => !matrix.derived && sizeOfGrid(matrix) <= mostCells);
  const gradients = matrices.filter(({ isGradient }) => isGradient);
  const results = matrices.filter(({ isGradient }) => !isGradient).reverse();
  const found = [
    { key: "suggest.largest", at: largestCell(gradients, () => true) },
    { key: "suggest.zero", at: firstCell(gradients, (at) => hasTellingReason(lesson, at)) },
    { key: "suggest.made", at: largestCell(results, (at) => isMade(lesson, at)) },
  ].filter(({ at }) => at);
  if (found.length === 0) return null;
  return element(
    "ul",
    { class: "suggestions" },
    found.map(({ key, at }) => element("li", {}, suggested(app, at), ` ${say(key)}`)),
  );
}

// A cell made of several others: of the result of the step, or of a gradient.
export function tellingCellOf(lesson, isBack) {
  const matrices = lesson.allMatrices().filter((matrix) => !matrix.derived && matrix.isGradient === isBack);
  return largestCell(isBack ? matrices : matrices.reverse(), (at) => isMade(lesson, at));
}

const sizeOfGrid = ({ grid }) => grid.rows * grid.columns;

function* cellsOf(matrices) {
  for (const matrix of matrices) {
    for (let row = 0; row < matrix.grid.rows; row++) {
      for (let column = 0; column < matrix.grid.columns; column++) yield { matrix, row, column };
    }
  }
}

function firstCell(matrices, holds) {
  for (const at of cellsOf(matrices)) if (holds(at)) return at;
  return null;
}

// {matrix, row, column}: the largest of the first matrix that has one for which it holds, among the first forty.
export function largestCell(matrices, holds) {
  for (const matrix of matrices) {
    const size = ({ row, column }) => Math.abs(matrix.number(row, column));
    const finite = [...cellsOf([matrix])].filter((at) => size(at) > 0 && size(at) < Infinity);
    finite.sort((a, b) => size(b) - size(a));
    const found = finite.slice(0, mostTried).find(holds);
    if (found) return found;
  }
  return null;
}

function hasTellingReason(lesson, { matrix, row, column }) {
  return tellingReasons.includes(reasonForZero(lesson, matrix, row, column)?.id);
}

// Of several others.
function isMade(lesson, { matrix, row, column }) {
  return Expression.cellsOf(lesson.expression(matrix, row, column)).length > 1;
}

function suggested(app, { matrix, row, column }) {
  const text = `${matrix.name(row, column)} = ${matrix.text(row, column)}`;
  return buttonElement(text, () => app.select({ key: matrix.key, row, column }), { class: "operand" });
}
