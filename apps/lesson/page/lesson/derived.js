// Matrices between two values of the tape, computed here: the exponentials of a softmax, the share of
// one head in a gradient.
import { Expression } from "../ops/expression.js";
import { rowsOfValue } from "./invariants.js";
import { gridOf, indexIn } from "./looks.js";

// {data, expression(index)}: in the layout of part.value.
export function derivedNumbers(lesson, part) {
  const { derived, value, weight, gradient } = part;
  const key = [derived, value, weight?.value, gradient?.value, lesson.state.head].join(":");
  return lesson.kept.get(key, [lesson.tape], () => makers[derived](lesson, part));
}

const cellsOfRow = (value, row, columns) =>
  Array.from({ length: columns }, (_, column) => Expression.cell(value, row * columns + column));

const largestSeen = (data, cells) => {
  const seen = cells.filter(({ index }) => data[index] !== -Infinity);
  return seen.length > 0 ? Expression.maximum(seen, "largest") : Expression.number(0);
};

function exponential(value, data, columns, index) {
  const cells = cellsOfRow(value, Math.floor(index / columns), columns);
  const shifted = Expression.difference(Expression.cell(value, index), largestSeen(data, cells));
  return Expression.apply("exp", shifted);
}

const makers = {
  // E = exp(S - max of the row)
  exponentials(lesson, { value }) {
    const { data, columns, rows } = rowsOfValue(lesson, value);
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

  // dX_h = dQ W^T for the rows of dQ and the columns of W that are of the head that is open
  headShare(lesson, { gradient, weight }) {
    const { anatomy, state, heads } = lesson;
    const grid = (part) => gridOf(part, anatomy.shape(part.of ?? part.value), state.head, heads);
    const [left, right] = [grid(gradient), grid(weight)];
    const width = right.rows;
    const columns = Array.from({ length: right.columns }, (_, c) => c);
    const factors = (index, c) => [indexIn(left, Math.floor(index / width), c), indexIn(right, index % width, c)];
    const term = (index) => (c) => {
      const [a, b] = factors(index, c);
      return Expression.product([Expression.cell(gradient.value, a), Expression.cell(weight.value, b)]);
    };
    const [a, b] = [gradient, weight].map(({ value }) => lesson.tape.values[value].data);
    const data = new Float64Array(left.rows * width);
    for (let index = 0; index < data.length; index++) {
      let [from, to] = factors(index, 0);
      for (let c = 0; c < columns.length; c++, from += left.columnStride, to += right.columnStride) {
        data[index] += a[from] * b[to];
      }
    }
    return { data, expression: (index) => Expression.sum(columns.map(term(index))) };
  },
};
