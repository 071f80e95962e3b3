// What a question takes for granted: whether it is so, by the numbers that the page shows now.
import { invariantsOf } from "./invariants.js";
import { roundingOf } from "./reasons.js";
import { keyOf } from "./symbols.js";
import { ofHead } from "./training.js";

const equalWithin = 1e-9; // of the largest number

function everyCell({ rows, columns }, holds) {
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) if (!holds(row, column)) return false;
  }
  return true;
}

export function isZero(lesson, key) {
  const matrix = lesson.matrix(key);
  const most = roundingOf(lesson);
  return Boolean(matrix) && everyCell(matrix.grid, (...at) => Math.abs(matrix.number(...at)) <= most);
}

export function isRowZero(lesson, key, row) {
  const matrix = lesson.matrix(key);
  if (!matrix) return false;
  const most = roundingOf(lesson);
  return everyCell({ ...matrix.grid, rows: 1 }, (_, at) => Math.abs(matrix.number(row, at)) <= most);
}

export function hasZeroRow(lesson, symbol) {
  const matrix = symbol && lesson.matrix(keyOf(symbol));
  const rows = Array.from({ length: matrix?.grid.rows ?? 0 }, (_, row) => row);
  return rows.some((row) => isRowZero(lesson, matrix.key, row));
}

// One matrix is a multiple of another.
export function isMultiple(lesson, key, factor, other) {
  const [a, b] = [lesson.matrix(key), lesson.matrix(other)];
  if (!a || !b || a.grid.rows !== b.grid.rows || a.grid.columns !== b.grid.columns) return false;
  const most = equalWithin * Math.max(a.largest, b.largest);
  return everyCell(a.grid, (...at) => Math.abs(a.number(...at) - factor * b.number(...at)) <= most);
}

export const areEqual = (lesson, key, other) => isMultiple(lesson, key, 1, other);

// Every diagonal has one number.
export function isOneByDistance(lesson, key) {
  const matrix = lesson.matrix(key);
  if (!matrix) return false;
  const { rows, columns } = matrix.grid;
  const size = { rows: rows - 1, columns: columns - 1 };
  return everyCell(size, (i, j) => matrix.number(i, j) === matrix.number(i + 1, j + 1));
}

// The rows of the gradient of the step's first matrix.
const firstPair = (lesson) => lesson.matrices()[0];

export function rowsOfFirstGradientSumToZero(lesson) {
  const { backward } = firstPair(lesson);
  return Boolean(backward) && everyRow(backward, (row) => sumOfRow(backward, row, () => 1));
}

export function firstGradientIsAtRightAngle(lesson) {
  const { forward, backward } = firstPair(lesson);
  if (!backward) return false;
  return everyRow(backward, (row) => sumOfRow(backward, row, (column) => forward.number(row, column)));
}

// Whether sum(row), {sum, size}, is nearly nothing for every row. What the norm adds to the variance
// leaves a little.
function everyRow({ grid, largest }, sum) {
  const most = largest * grid.columns;
  for (let row = 0; row < grid.rows; row++) {
    const { sum: whole, size } = sum(row);
    if (Math.abs(whole) > 1e-6 * size && size > 1e-12 * most) return false;
  }
  return true;
}

function sumOfRow(matrix, row, factor) {
  const result = { sum: 0, size: 0 };
  for (let column = 0; column < matrix.grid.columns; column++) {
    const term = matrix.number(row, column) * factor(column);
    result.sum += term;
    result.size += Math.abs(term);
  }
  return result;
}

export function invariantHolds(lesson, name) {
  const [found] = invariantsOf(lesson, [name]);
  return Boolean(found?.holds);
}

// Where the mask hides something in this head: {weights, scores}, the largest of their gradients.
function gradientsWhereHidden(lesson) {
  const { layer, anatomy, tape, state } = lesson;
  const masked = layer.masked ?? layer.scores;
  const gradients = [layer.weights, masked].map((value) => anatomy.gradient(value));
  if (gradients.includes(undefined)) return null;
  const shape = anatomy.shape(layer.weights).slice(1);
  const ofThisHead = (value) => ofHead(tape.values[value].data, shape, state.head);
  const [scores, weightsBack, scoresBack] = [masked, ...gradients].map(ofThisHead);
  const found = { cells: 0, weights: 0, scores: 0 };
  scores.forEach((x, i) => {
    if (x !== -Infinity) return;
    found.cells++;
    found.weights = Math.max(found.weights, Math.abs(weightsBack[i]));
    found.scores = Math.max(found.scores, Math.abs(scoresBack[i]));
  });
  return found.cells > 0 ? found : null;
}

// The hidden cells of P have a gradient, and those of S none.
export function hiddenCellsStopAtSoftmax(lesson) {
  const hidden = gradientsWhereHidden(lesson);
  return Boolean(hidden) && hidden.weights > roundingOf(lesson) && hidden.scores === 0;
}
