// Ops that make each element of a whole row: softmax, norms, the loss.
import { Expression } from "./expression.js";
import { aroundAxis, sizeOf } from "./shapes.js";

/** @param {Operand} x */
const rowWidth = (x) => x.shape.at(-1);

// Calls f(start) for each row of x [..., C], whose elements are start … start + C - 1.
/** @param {Operand} x @param {(start: number, width: number) => void} f */
function forEachRow(x, f) {
  const width = rowWidth(x);
  for (let start = 0; start < x.data.length; start += width) f(start, width);
}

/** @param {Operand} x @param {number} index */
function rowOf(x, index) {
  const width = rowWidth(x);
  const start = Math.floor(index / width) * width;
  const indices = Array.from({ length: width }, (_, i) => start + i);
  const cells = indices.map((i) => Expression.cell(x.value, i));
  return { start, width, indices, cells, column: index - start };
}

// A row of y reads a row of x, and a column of y an element of weight or bias.
/** @param {OpNode} node @param {number} input @param {number} index */
function readersInRows(node, input, index) {
  const x = node.inputs[0];
  if (input === 0) return rowOf(x, index).indices;
  const width = rowWidth(x);
  return Array.from({ length: x.data.length / width }, (_, row) => row * width + index);
}

// The largest of a row; 0 where all are -inf, so that their exps are 0 and not NaN.
/** @param {Numbers} x @param {number} start @param {number} width */
function shiftOf(x, start, width) {
  let largest = -Infinity;
  for (let i = start; i < start + width; i++) largest = Math.max(largest, x[i]);
  return largest === -Infinity ? 0 : largest;
}

/** @param {Numbers} x @param {number} start @param {number} width @param {number} shift */
function sumOfExps(x, start, width, shift) {
  let sum = 0;
  for (let i = start; i < start + width; i++) sum += Math.exp(x[i] - shift);
  return sum;
}

// Σ exp(x_j - max) and max over the keys that are seen: -inf adds nothing.
/** @param {Operand} x @param {number} index */
function exponentials(x, index) {
  const { indices, cells } = rowOf(x, index);
  const seen = cells.filter((_, i) => x.data[indices[i]] !== -Infinity);
  const largest = Expression.maximum(seen, "largest");
  const exps = seen.map((each) => Expression.apply("exp", Expression.difference(each, largest)));
  return { seen, largest, sum: Expression.sum(exps) };
}

// A key that is hidden gives nothing, and gets nothing.
/** @param {OpNode} node @param {number} input @param {number} index */
function readersAmongSeen({ inputs: [x] }, input, index) {
  /** @param {number} i */
  const isSeen = (i) => x.data[i] !== -Infinity;
  return isSeen(index) ? rowOf(x, index).indices.filter(isSeen) : [];
}

/** @type {OpKind} */
const softmaxOp = {
  run({ inputs: [x] }) {
    const y = new Float64Array(x.data.length);
    forEachRow(x, (start, width) => {
      const shift = shiftOf(x.data, start, width);
      let sum = 0;
      for (let i = start; i < start + width; i++) sum += y[i] = Math.exp(x.data[i] - shift);
      if (sum !== 0) for (let i = start; i < start + width; i++) y[i] /= sum;
    });
    return y;
  },
  cell({ inputs: [x] }, index) {
    if (x.data[index] === -Infinity) return Expression.number(0, "hidden");
    const { largest, sum } = exponentials(x, index);
    const own = Expression.difference(Expression.cell(x.value, index), largest);
    return Expression.quotient(Expression.apply("exp", own), sum);
  },
  readers: readersAmongSeen,
};

// x - max - log(Σ exp(x_j - max))
/** @type {OpKind} */
const logSoftmaxOp = {
  run({ inputs: [x] }) {
    const y = new Float64Array(x.data.length);
    forEachRow(x, (start, width) => {
      const shift = shiftOf(x.data, start, width);
      const sum = sumOfExps(x.data, start, width, shift);
      const logSum = sum === 0 ? 0 : Math.log(sum);
      for (let i = start; i < start + width; i++) y[i] = x.data[i] - shift - logSum;
    });
    return y;
  },
  cell({ inputs: [x] }, index) {
    if (x.data[index] === -Infinity) return Expression.number(-Infinity, "hidden");
    const { largest, sum } = exponentials(x, index);
    const own = Expression.difference(Expression.cell(x.value, index), largest);
    return Expression.difference(own, Expression.apply("log", sum));
  },
  readers: readersAmongSeen,
};

// (x - mean) rstd weight + bias, or x rstd weight without the mean.
/**
 * @param {Numbers} x
 * @param {number} start
 * @param {number} width
 * @param {{ epsilon: number, centered: boolean }} options
 */
function normRow(x, start, width, { epsilon, centered }) {
  let mean = 0;
  if (centered) for (let i = start; i < start + width; i++) mean += x[i] / width;
  let squares = 0;
  for (let i = start; i < start + width; i++) squares += (x[i] - mean) ** 2;
  return { mean, rstd: 1 / Math.sqrt(squares / width + epsilon) };
}

/** @param {{ centered: boolean }} options @returns {OpKind} */
function normOp({ centered }) {
  return {
    run({ inputs: [x, weight, bias], attributes: { epsilon } }) {
      const y = new Float64Array(x.data.length);
      forEachRow(x, (start, width) => {
        const { mean, rstd } = normRow(x.data, start, width, { epsilon, centered });
        for (let c = 0; c < width; c++) {
          const normal = (x.data[start + c] - mean) * rstd;
          y[start + c] = normal * weight.data[c] + (bias ? bias.data[c] : 0);
        }
      });
      return y;
    },
    cell({ inputs: [x, weight, bias], attributes: { epsilon } }, index) {
      const { cells, column, width } = rowOf(x, index);
      const count = Expression.number(width);
      const mean = Expression.quotient(Expression.sum(cells), count, "mean");
      const centers = centered ? cells.map((each) => Expression.difference(each, mean)) : cells;
      const squares = centers.map((each) => Expression.product([each, each]));
      const what = centered ? "variance" : "mean square";
      const spread = Expression.quotient(Expression.sum(squares), count, what);
      const root = Expression.apply(
        "sqrt",
        Expression.sum([spread, Expression.number(epsilon, "epsilon")]),
      );
      const rstd = Expression.quotient(Expression.number(1), root, "rstd");
      const own = [centers[column], rstd, Expression.cell(weight.value, column)];
      if (!bias) return Expression.product(own);
      return Expression.sum([Expression.product(own), Expression.cell(bias.value, column)]);
    },
    readers: readersInRows,
  };
}

// -Σ q log(softmax(x)) with q = (1 - s) one_hot(target) + s / V, which is
// log Σ exp(x) - (1 - s) x[target] - s mean(x).        x: [N, V], loss: [N]
/** @type {OpKind} */
const crossEntropyOp = {
  run({ inputs: [x], attributes }) {
    const { targets, ignored, label_smoothing: smoothing = 0 } = attributes;
    const loss = new Float64Array(targets.data.length);
    forEachRow(x, (start, width) => {
      const row = start / width;
      const target = targets.data[row];
      if (target === ignored) return;
      const shift = shiftOf(x.data, start, width);
      let mean = 0;
      for (let i = start; i < start + width; i++) mean += (x.data[i] - shift) / width;
      const wanted = x.data[start + target] - shift;
      loss[row] = Math.log(sumOfExps(x.data, start, width, shift)) - (1 - smoothing) * wanted;
      if (smoothing > 0) loss[row] -= smoothing * mean;
    });
    return loss;
  },
  cell({ inputs: [x], attributes }, row) {
    const { targets, ignored, label_smoothing: smoothing = 0 } = attributes;
    const target = targets.data[row];
    if (target === ignored) return Expression.number(0, "ignored");
    const width = rowWidth(x);
    const { seen, largest, sum } = exponentials(x, row * width);
    const wanted = Expression.cell(x.value, row * width + target);
    const logSum = Expression.sum([Expression.apply("log", sum), largest]);
    if (!smoothing) return Expression.difference(logSum, wanted);
    const mean = Expression.quotient(Expression.sum(seen), Expression.number(width), "mean");
    const smoothed = Expression.sum([
      Expression.product([Expression.number(1 - smoothing), wanted]),
      Expression.product([Expression.number(smoothing), mean]),
    ]);
    return Expression.difference(logSum, smoothed);
  },
  readers: ({ inputs: [x] }, input, index) => [Math.floor(index / rowWidth(x))],
};

// The largest along an axis, and where it first stands: [..., n, ...] to [..., 1, ...].
/** @param {OpNode} node @param {(i: number, at: number) => number} take */
function largestAlong({ inputs: [x], attributes: { axis }, shape }, take) {
  const { n, inner } = aroundAxis(x.shape, axis);
  const largest = new Float64Array(sizeOf(shape));
  for (let index = 0; index < largest.length; index++) {
    const start = Math.floor(index / inner) * n * inner + (index % inner);
    let best = 0;
    for (let i = 1; i < n; i++) {
      if (x.data[start + i * inner] > x.data[start + best * inner]) best = i;
    }
    largest[index] = take(best, start + best * inner);
  }
  return largest;
}

/** @param {OpNode} node @param {number} index */
function alongAxis({ inputs: [x], attributes: { axis } }, index) {
  const { n, inner } = aroundAxis(x.shape, axis);
  const start = Math.floor(index / inner) * n * inner + (index % inner);
  return Array.from({ length: n }, (_, i) => Expression.cell(x.value, start + i * inner));
}

/** @param {OpNode} node @param {number} input @param {number} index */
function readersAlongAxis({ inputs: [x], attributes: { axis } }, input, index) {
  const { n, inner } = aroundAxis(x.shape, axis);
  return [Math.floor(index / (n * inner)) * inner + (index % inner)];
}

/** @type {{ [name: string]: OpKind }} */
export const rowOps = {
  softmax: softmaxOp,
  log_softmax: logSoftmaxOp,
  layer_norm: normOp({ centered: true }),
  rms_norm: normOp({ centered: false }),
  cross_entropy: crossEntropyOp,
  max: {
    run: (node) => largestAlong(node, (i, at) => node.inputs[0].data[at]),
    cell: (node, index) => Expression.maximum(alongAxis(node, index)),
    readers: readersAlongAxis,
  },
  index_of_max: {
    run: (node) => largestAlong(node, (i) => i),
    readers: readersAlongAxis,
  },
};
