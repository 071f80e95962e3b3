// One or more nodes of every op, with numbers that are nothing special: sines.
import { sizeOf } from "../../../../apps/lesson/page/ops/shapes.js";

export function wave(shape, phase = 0) {
  const data = new Float64Array(sizeOf(shape)).map((_, i) => Math.sin(1.7 * i + phase + 0.3));
  return { shape, data };
}

const tensor = (shape, numbers) => ({ shape, data: Float64Array.from(numbers) });
const positive = (shape) => {
  const { data } = wave(shape);
  return { shape, data: data.map((x) => x * x + 0.2) };
};

function node(op, inputs, shape, attributes = {}) {
  const withIds = inputs.map((input, value) => ({ value, ...input }));
  return { op, inputs: withIds, shape, attributes, output: inputs.length };
}

const someMask = tensor([2, 3], [0, 1, 0, 0, 0, 1]);
const hidden = {
  shape: [2, 3],
  data: Float64Array.of(0.3, -Infinity, 1.2, ...Array(3).fill(-Infinity)),
};
const index = tensor([4], [2, 0, 2, 1]);
const alongAxis = tensor([2, 2, 2], [0, 2, 2, 1, 1, 0, 1, 2]);
const pair = (op) => node(op, [wave([2, 3]), wave([2, 3], 1)], [2, 3]);
const single = (op, attributes, x = wave([2, 3])) => node(op, [x], [2, 3], attributes);
const padding = tensor([2, 3], [0, 0, 0, 0, 1, 0]);

function matmul(a, b, transpose_a, transpose_b, batch = 2) {
  const [m, k, n] = [3, 4, 2];
  return node(
    "matmul",
    [
      wave([a, ...(transpose_a ? [k, m] : [m, k])]),
      wave([b, ...(transpose_b ? [n, k] : [k, n])], 2),
    ],
    [batch, m, n],
    { transpose_a, transpose_b },
  );
}

function scan(op, gates, parts, attributes) {
  const inputs = [wave([2, 3, gates * 2]), wave([gates * 2, 2], 1), wave([2, parts * 2], 2)];
  return node(op, inputs, [2, 3, parts * 2], attributes);
}

export const opExamples = [
  ...["add", "sub", "mul", "div", "maximum"].map(pair),
  node("pow", [positive([2, 3]), wave([2, 3], 1)], [2, 3]),
  single("pow", { exponent: 3 }),
  ...["neg", "exp", "tanh", "erf", "sigmoid", "relu", "silu"].map((op) => single(op)),
  ...["log", "sqrt", "rsqrt"].map((op) => single(op, {}, positive([2, 3]))),
  single("gelu", {}),
  single("gelu", { tanh: true }),
  single("scale", { factor: -0.7 }),
  single("add_scalar", { term: 0.4 }),
  single("dropout", { mask: someMask, p: 0.25 }),
  single("dropout_backward", { mask: someMask, p: 0.25 }),
  single("masked_fill", { mask: someMask, value: -Infinity }),
  node("where", [wave([2, 3]), wave([2, 3], 1)], [2, 3], { mask: someMask }),
  node("reshape", [wave([2, 3])], [3, 2]),
  single("cast"),
  node("permute", [wave([2, 3, 4])], [4, 2, 3], { axes: [2, 0, 1] }),
  node("slice", [wave([2, 4, 3])], [2, 2, 3], { axis: 1, start: 1 }),
  node("pad", [wave([2, 2, 3])], [2, 4, 3], { axis: 1, start: 1 }),
  node("broadcast_to", [wave([2, 1, 3])], [4, 2, 2, 3]),
  node("broadcast_to", [wave([])], [2, 3]),
  node("sum_to", [wave([4, 2, 2, 3])], [2, 1, 3]),
  node("sum_to", [wave([2, 3])], []),
  node("sum", [wave([2, 3, 2])], [2, 2], { axis: 1 }),
  node("concat", [wave([2, 1, 2]), wave([2, 2, 2], 1)], [2, 3, 2], { axis: 1 }),
  node("unfold", [wave([2, 3, 2])], [2, 3, 6], { kernel: 3, before: 2 }),
  node("fold", [wave([2, 3, 6])], [2, 3, 2], { kernel: 3, before: 2 }),
  node("embedding", [wave([3, 2])], [4, 2], { index }),
  node("embedding_backward", [wave([4, 2])], [3, 2], { index }),
  node("gather", [wave([2, 3, 2])], [2, 2, 2], { axis: 1, index: alongAxis }),
  node("scatter_add", [wave([2, 2, 2])], [2, 3, 2], { axis: 1, index: alongAxis }),
  ...[0, 1, 2, 3].map((flags) => matmul(2, 2, flags > 1, flags % 2 === 1)),
  matmul(1, 2, false, true),
  matmul(2, 1, true, false),
  node("linear", [wave([2, 2, 3]), wave([4, 3], 1), wave([4], 2)], [2, 2, 4]),
  node("linear", [wave([3]), wave([4, 3], 1)], [4]),
  node("depthwise_convolution", [wave([2, 4, 2]), wave([2, 1, 3], 1), wave([2], 2)], [2, 4, 2], {
    before: 1,
  }),
  single("softmax"),
  single("softmax", {}, hidden),
  single("log_softmax"),
  node("layer_norm", [wave([2, 5]), wave([5], 1), wave([5], 2)], [2, 5], { epsilon: 1e-5 }),
  node("layer_norm", [wave([2, 5]), wave([5], 1)], [2, 5], { epsilon: 0.1 }),
  node("rms_norm", [wave([2, 5]), wave([5], 1)], [2, 5], { epsilon: 1e-5 }),
  ...[0, 0.1].map((label_smoothing) =>
    node("cross_entropy", [wave([3, 4])], [3], {
      targets: tensor([3], [2, -1, 0]),
      ignored: -1,
      label_smoothing,
    }),
  ),
  node("max", [wave([2, 3, 2])], [2, 1, 2], { axis: 1 }),
  node("rotary", [wave([1, 3, 2, 4])], [1, 3, 2, 4], { first_position: 2 }),
  node("rotary_backward", [wave([1, 3, 2, 4])], [1, 3, 2, 4], { first_position: 2 }),
  scan("rnn", 1, 1, {}),
  scan("rnn", 1, 1, { reverse: true, padding }),
  scan("lstm", 4, 2, {}),
  scan("lstm", 4, 2, { reverse: true, padding }),
  node("one_hot", [tensor([3], [2, 0, 1])], [3, 4]),
];

// Ops that are each other's transpose: <y, F x> = <Fᵀ y, x>.
export const transposedPairs = [
  ["slice", "pad"],
  ["broadcast_to", "sum_to"],
  ["unfold", "fold"],
  ["embedding", "embedding_backward"],
  ["gather", "scatter_add"],
  ["rotary", "rotary_backward"],
];
