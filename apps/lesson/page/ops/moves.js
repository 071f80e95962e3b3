// Ops that carry numbers from one place to another, and those that add up what arrives at a place.
// The backward of each of the former is one of the latter.
import { Expression } from "./expression.js";
import { aroundAxis, broadcastStrides, sizeOf, stridedIndices, stridesOf } from "./shapes.js";

/** @param {NumberList} numbers @param {number} wanted */
function indicesOf(numbers, wanted) {
  const found = [];
  for (let i = 0; i < numbers.length; i++) if (numbers[i] === wanted) found.push(i);
  return found;
}

// y[i] = x[sources[i]], or 0 where there is no source (-1).
/** @param {(node: OpNode) => NumberList} sourcesOf @returns {OpKind} */
function gathering(sourcesOf) {
  return {
    opens: true,
    moves: true,
    run(node) {
      const x = node.inputs[0].data;
      const sources = sourcesOf(node);
      const y = new Float64Array(sources.length);
      for (let i = 0; i < y.length; i++) if (sources[i] >= 0) y[i] = x[sources[i]];
      return y;
    },
    cell(node, index) {
      const source = sourcesOf(node)[index];
      return source < 0 ? Expression.number(0) : Expression.cell(node.inputs[0].value, source);
    },
    readers: (node, input, index) => indicesOf(sourcesOf(node), index),
  };
}

// y[j] = Σ x[i] over the i of all inputs whose target is j; a target of -1 is none.
/**
 * @param {(node: OpNode, input: number) => NumberList} targetsOf
 * @param {{ moves?: boolean }} [options]
 * @returns {OpKind}
 */
function scattering(targetsOf, { moves = false } = {}) {
  return {
    opens: true,
    moves,
    adds: !moves,
    run(node) {
      const y = new Float64Array(sizeOf(node.shape));
      node.inputs.forEach(({ data: x }, input) => {
        const targets = targetsOf(node, input);
        for (let i = 0; i < x.length; i++) if (targets[i] >= 0) y[targets[i]] += x[i];
      });
      return y;
    },
    cell(node, index) {
      const cells = node.inputs.flatMap((x, input) =>
        indicesOf(targetsOf(node, input), index).map((i) => Expression.cell(x.value, i)),
      );
      if (cells.length === 0) return Expression.number(0);
      return cells.length === 1 ? cells[0] : Expression.sum(cells);
    },
    readers(node, input, index) {
      const target = targetsOf(node, input)[index];
      return target < 0 ? [] : [target];
    },
  };
}

// The same numbers in the same order.
/** @type {OpKind} */
const unmoved = {
  opens: true,
  moves: true,
  run: ({ inputs: [x] }) => x.data,
  cell: ({ inputs: [x] }, index) => Expression.cell(x.value, index),
  readers: (node, input, index) => [index],
};

/** @param {OpNode} node */
function permutedSources({ inputs: [x], attributes: { axes }, shape }) {
  const strides = stridesOf(x.shape);
  return stridedIndices(
    shape,
    axes.map((/** @type {number} */ axis) => strides[axis]),
  );
}

/** @param {OpNode} node */
function slicedSources({ inputs: [x], attributes: { axis, start }, shape }) {
  const strides = stridesOf(x.shape);
  return stridedIndices(shape, strides, start * strides[axis]);
}

/** @param {OpNode} node */
function broadcastSources({ inputs: [x], shape }) {
  return stridedIndices(shape, broadcastStrides(x.shape, shape));
}

// Where x stands in y, `start` further along an axis.
/** @param {Tensor} x @param {Attributes} options @param {Shape} shape */
function placedTargets(x, { axis, start }, shape) {
  const strides = stridesOf(shape);
  return stridedIndices(x.shape, strides, start * strides[axis]);
}

/** @param {OpNode} node @param {number} input */
function concatenatedTargets({ inputs, attributes: { axis }, shape }, input) {
  const before = inputs.slice(0, input).reduce((sum, piece) => sum + piece.shape[axis], 0);
  return placedTargets(inputs[input], { axis, start: before }, shape);
}

/** @param {OpNode} node */
function axisTargets({ inputs: [x], attributes: { axis } }) {
  const kept = x.shape.map((n, i) => (i === axis ? 1 : n));
  return stridedIndices(x.shape, broadcastStrides(kept, x.shape));
}

// Tap k of position t reads position t + k - before.   x: [B, T, C], windows: [B, T, K C]
/** @param {Shape} options @param {number} kernel @param {number} before */
function tapSources([batch, length, width], kernel, before) {
  const sources = new Int32Array(batch * length * kernel * width).fill(-1);
  let next = 0;
  for (let row = 0; row < batch * length; row++) {
    const t = row % length;
    for (let k = 0; k < kernel; k++, next += width) {
      const from = t + k - before;
      if (from < 0 || from >= length) continue;
      for (let c = 0; c < width; c++) sources[next + c] = (row + k - before) * width + c;
    }
  }
  return sources;
}

// Row index[n] of a table [V, C], for each n.
/** @param {Tensor} tensor @param {number} width */
function rowSources({ data: index }, width) {
  const sources = new Int32Array(index.length * width);
  for (let n = 0; n < index.length; n++) {
    for (let c = 0; c < width; c++) sources[n * width + c] = index[n] * width + c;
  }
  return sources;
}

// [..., index[..., i, ...], ...] of an axis of `size`, for each element of index.
/** @param {Tensor} index @param {number} axis @param {number} size */
function axisSources(index, axis, size) {
  const { outer, n, inner } = aroundAxis(index.shape, axis);
  const sources = new Int32Array(index.data.length);
  let next = 0;
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < inner; k++, next++) {
        sources[next] = (o * size + index.data[next]) * inner + k;
      }
    }
  }
  return sources;
}

/** @type {{ [name: string]: OpKind }} */
export const movingOps = {
  reshape: unmoved,
  cast: unmoved,
  permute: gathering(permutedSources),
  slice: gathering(slicedSources),
  broadcast_to: gathering(broadcastSources),
  unfold: gathering(({ inputs: [x], attributes }) =>
    tapSources(x.shape, attributes.kernel, attributes.before),
  ),
  embedding: gathering(({ attributes: { index }, shape }) => rowSources(index, shape.at(-1))),
  gather: gathering(({ inputs: [x], attributes: { axis, index } }) =>
    axisSources(index, axis, x.shape[axis]),
  ),
  pad: scattering(({ inputs: [x], attributes, shape }) => placedTargets(x, attributes, shape), {
    moves: true,
  }),
  concat: scattering(concatenatedTargets, { moves: true }),
  sum: scattering(axisTargets),
  sum_to: scattering(({ inputs: [x], shape }) =>
    stridedIndices(x.shape, broadcastStrides(shape, x.shape)),
  ),
  fold: scattering(({ attributes, shape }) =>
    tapSources(shape, attributes.kernel, attributes.before),
  ),
  embedding_backward: scattering(({ attributes: { index }, shape }) =>
    rowSources(index, shape.at(-1)),
  ),
  scatter_add: scattering(({ attributes: { axis, index }, shape }) =>
    axisSources(index, axis, shape[axis]),
  ),
};
