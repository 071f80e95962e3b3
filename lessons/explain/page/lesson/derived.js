// Matrices between two values of the tape, computed here: the exponentials of a softmax.
import { Expression } from "../ops/expression.js";

// {data, expression(index)}: in the layout of the value that they come from,.
export function derivedNumbers(lesson, part) {
  const key = `${part.derived}:${part.value}`;
  if (!lesson.derivedNumbers.has(key)) {
    lesson.derivedNumbers.set(key, makers[part.derived](lesson, part.value));
  }
  return lesson.derivedNumbers.get(key);
}

function rowsOf(lesson, value) {
  const { data } = lesson.tape.values[value];
  const shape = lesson.anatomy.shape(value);
  const columns = shape[shape.length - 1];
  return { data, columns, rows: data.length / columns };
}

const cellsOfRow = (value, row, columns) =>
  Array.from({ length: columns }, (_, column) => Expression.cell(value, row * columns + column));

const largestSeen = (data, cells) => {
  const seen = cells.filter(({ index }) => data[index] !== -Infinity);
  return seen.length > 0 ? Expression.maximum(seen, "max") : Expression.number(0);
};

function exponential(value, data, columns, index) {
  const cells = cellsOfRow(value, Math.floor(index / columns), columns);
  const shifted = Expression.difference(Expression.cell(value, index), largestSeen(data, cells));
  return Expression.apply("exp", shifted);
}

const makers = {
  // E = exp(S - max of the row)
  exponentials(lesson, value) {
    const { data, columns, rows } = rowsOf(lesson, value);
    const result = new Float64Array(data.length);
    for (let row = 0; row < rows; row++) {
      const part = data.subarray(row * columns, (row + 1) * columns);
      const largest = part.reduce((a, b) => Math.max(a, b), -Infinity);
      for (let i = 0; i < columns; i++) {
        result[row * columns + i] = largest === -Infinity ? 0 : Math.exp(part[i] - largest);
      }
    }
    return { data: result, expression: (index) => exponential(value, data, columns, index) };
  },
};
