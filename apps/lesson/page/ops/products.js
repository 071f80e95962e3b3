// Sums of products: matrix products, linear layers, convolutions.
import { Expression } from "./expression.js";
import { sizeOf } from "./shapes.js";

// C += A B for one matrix of a batch. A: [M, K], or [K, M] with transposeA; B likewise; C: [M, N].
// The loops walk memory in rows, four rows of B at a time, so that C is read a fourth as often.
/** @param {Numbers} a @param {Numbers} b @param {Numbers} c @param {ProductSizes} sizes */
function addProduct(a, b, c, sizes) {
  if (sizes.transposeB) addDotProducts(a, b, c, sizes);
  else addRows(a, b, c, sizes);
}

// Row i of C gets Σ_l A[i, l] (row l of B).
/** @param {Numbers} a @param {Numbers} b @param {Numbers} c @param {ProductSizes} options */
function addRows(a, b, c, { m, k, n, transposeA }) {
  const step = transposeA ? m : 1;
  for (let i = 0; i < m; i++) {
    const out = i * n;
    let at = transposeA ? i : i * k;
    let l = 0;
    for (; l + 4 <= k; l += 4, at += 4 * step) {
      const [f0, f1, f2, f3] = [a[at], a[at + step], a[at + 2 * step], a[at + 3 * step]];
      for (let j = 0, r0 = l * n, r1 = r0 + n, r2 = r1 + n, r3 = r2 + n; j < n; j++) {
        c[out + j] += f0 * b[r0 + j] + f1 * b[r1 + j] + f2 * b[r2 + j] + f3 * b[r3 + j];
      }
    }
    for (; l < k; l++, at += step) {
      for (let j = 0, row = l * n; j < n; j++) c[out + j] += a[at] * b[row + j];
    }
  }
}

// C[i, j] gets the product of row i of A and row j of B.
/** @param {Numbers} a @param {Numbers} b @param {Numbers} c @param {ProductSizes} options */
function addDotProducts(a, b, c, { m, k, n, transposeA }) {
  const step = transposeA ? m : 1;
  for (let i = 0; i < m; i++) {
    const row = transposeA ? i : i * k;
    let j = 0;
    for (; j + 4 <= n; j += 4) {
      let [s0, s1, s2, s3] = [0, 0, 0, 0];
      for (let l = 0, at = row, r0 = j * k; l < k; l++, at += step, r0++) {
        const factor = a[at];
        s0 += factor * b[r0];
        s1 += factor * b[r0 + k];
        s2 += factor * b[r0 + 2 * k];
        s3 += factor * b[r0 + 3 * k];
      }
      const out = i * n + j;
      c[out] += s0;
      c[out + 1] += s1;
      c[out + 2] += s2;
      c[out + 3] += s3;
    }
    for (; j < n; j++) {
      let sum = 0;
      for (let l = 0, at = row, r0 = j * k; l < k; l++, at += step) sum += a[at] * b[r0++];
      c[i * n + j] += sum;
    }
  }
}

// [N or 1, M, K] and [N or 1, K, L] with the flags of each.
/** @param {OpNode} node */
function matmulSizes({ inputs: [a, b], attributes, shape }) {
  const transposeA = Boolean(attributes.transpose_a);
  const transposeB = Boolean(attributes.transpose_b);
  const [batch, m, n] = shape;
  const k = a.shape[transposeA ? 1 : 2];
  return { batch, m, k, n, transposeA, transposeB, ofA: a.shape[0], ofB: b.shape[0] };
}

/** @type {OpKind} */
const matrixProduct = {
  multiplies: true,
  run(node) {
    const [{ data: a }, { data: b }] = node.inputs;
    const { batch, m, k, n, transposeA, transposeB, ofA, ofB } = matmulSizes(node);
    const c = new Float64Array(batch * m * n);
    for (let i = 0; i < batch; i++) {
      const ai = a.subarray((i % ofA) * m * k);
      const bi = b.subarray((i % ofB) * k * n);
      addProduct(ai, bi, c.subarray(i * m * n), { m, k, n, transposeA, transposeB });
    }
    return c;
  },
  cell(node, index) {
    const { m, k, n, transposeA, transposeB, ofA, ofB } = matmulSizes(node);
    const [a, b] = node.inputs;
    const matrix = Math.floor(index / (m * n));
    const i = Math.floor(index / n) % m;
    const j = index % n;
    const startA = (matrix % ofA) * m * k;
    const startB = (matrix % ofB) * k * n;
    return Expression.sum(
      Array.from({ length: k }, (_, l) =>
        Expression.product([
          Expression.cell(a.value, startA + (transposeA ? l * m + i : i * k + l)),
          Expression.cell(b.value, startB + (transposeB ? j * k + l : l * n + j)),
        ]),
      ),
    );
  },
  // A row of C reads a row of A, a column of C a column of B.
  readers(node, input, index) {
    const { batch, m, k, n, transposeA, transposeB, ofA, ofB } = matmulSizes(node);
    const size = input === 0 ? m * k : k * n;
    const matrix = Math.floor(index / size);
    const matrices = [];
    const shared = input === 0 ? ofA : ofB;
    for (let each = 0; each < batch; each++) if (each % shared === matrix) matrices.push(each);
    const within = index % size;
    if (input === 0) {
      const i = transposeA ? within % m : Math.floor(within / k);
      return matrices.flatMap((each) => rangeOf(n, (j) => (each * m + i) * n + j));
    }
    const j = transposeB ? Math.floor(within / k) : within % n;
    return matrices.flatMap((each) => rangeOf(m, (i) => (each * m + i) * n + j));
  },
};

/** @type {<T>(length: number, f: (i: number) => T) => T[]} */
const rangeOf = (length, f) => Array.from({ length }, (_, i) => f(i));

// The product in a linear layer. x: [..., K], W: [N, K]
/** @param {OpNode} node @returns {OpNode} */
function productOf({ inputs: [x, weight] }) {
  const [n, k] = weight.shape;
  const m = sizeOf(x.shape) / k;
  const inputs = [{ ...x, shape: [1, m, k] }, { ...weight, shape: [1, n, k] }];
  return { inputs, attributes: { transpose_b: true }, shape: [1, m, n] };
}

// y = x Wᵀ + b          b: [N], y: [..., N]
/** @type {OpKind} */
const linearLayer = {
  multiplies: true,
  run(node) {
    const y = matrixProduct.run(productOf(node));
    const [, { shape: [n] }, bias] = node.inputs;
    if (bias) for (let i = 0; i < y.length; i++) y[i] += bias.data[i % n];
    return y;
  },
  cell(node, index) {
    const { of } = matrixProduct.cell(productOf(node), index);
    const [, { shape: [n] }, bias] = node.inputs;
    return Expression.sum(bias ? [...of, Expression.cell(bias.value, index % n)] : of);
  },
  readers(node, input, index) {
    const product = productOf(node);
    const [, m, n] = product.shape;
    return input < 2 ? matrixProduct.readers(product, input, index) : rangeOf(m, (row) => row * n + index);
  },
};

// y[t, c] = Σ_k w[c, k] x[t + k - before, c] + b[c]    x, y: [B, T, C], w: [C, 1, K], b: [C]
/** @param {number} t @param {{ kernel: number, before: number, length: number }} options */
function tapsWithin(t, { kernel, before, length }) {
  const first = Math.max(0, before - t);
  const end = Math.min(kernel, length - t + before);
  return rangeOf(Math.max(0, end - first), (i) => first + i);
}

/** @param {OpNode} node */
function depthwiseSizes({ inputs: [x, weight], attributes: { before } }) {
  return { length: x.shape[1], width: x.shape[2], kernel: weight.shape[2], before };
}

/** @type {OpKind} */
const depthwiseConvolution = {
  multiplies: true,
  run(node) {
    const [{ data: x }, { data: weight }, bias] = node.inputs;
    const sizes = depthwiseSizes(node);
    const { length, width, kernel, before } = sizes;
    return new Float64Array(x.length).map((_, index) => {
      const row = Math.floor(index / width);
      const c = index % width;
      return tapsWithin(row % length, sizes).reduce(
        (sum, k) => sum + weight[c * kernel + k] * x[(row + k - before) * width + c],
        bias ? bias.data[c] : 0,
      );
    });
  },
  cell(node, index) {
    const [x, weight, bias] = node.inputs;
    const sizes = depthwiseSizes(node);
    const { length, width, kernel, before } = sizes;
    const row = Math.floor(index / width);
    const c = index % width;
    const terms = tapsWithin(row % length, sizes).map((k) =>
      Expression.product([
        Expression.cell(weight.value, c * kernel + k),
        Expression.cell(x.value, (row + k - before) * width + c),
      ]),
    );
    if (bias) terms.push(Expression.cell(bias.value, c));
    return Expression.sum(terms);
  },
  readers(node, input, index) {
    const { length, width, kernel, before } = depthwiseSizes(node);
    const rows = sizeOf(node.shape) / width;
    const inSequence = (/** @type {number} */ t) => t >= 0 && t < length;
    if (input === 2) return rangeOf(rows, (row) => row * width + index);
    if (input === 1) {
      const k = index % kernel;
      const reading = rangeOf(rows, (row) => row).filter((row) =>
        inSequence((row % length) + k - before),
      );
      return reading.map((row) => row * width + Math.floor(index / kernel));
    }
    const row = Math.floor(index / width);
    const shifts = rangeOf(kernel, (k) => before - k);
    return shifts
      .filter((shift) => inSequence((row % length) + shift))
      .map((shift) => (row + shift) * width + (index % width));
  },
};

/** @type {{ [name: string]: OpKind }} */
export const productOps = {
  matmul: matrixProduct,
  linear: linearLayer,
  depthwise_convolution: depthwiseConvolution,
};
