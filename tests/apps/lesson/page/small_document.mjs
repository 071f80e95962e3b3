// A document such as the engine writes, of one head of attention over three tokens:
//   q, k, v = x W_q, x W_k, x W_v,  loss = Σ output g,  output = softmax(scale q kᵀ, masked) v
import { sizeOf } from "../../../../apps/lesson/page/ops/shapes.js";
import { wave } from "./examples.mjs";

const scope = "blocks.0.attention";
const arrayTypes = { f64: Float64Array, i32: Int32Array, u8: Uint8Array };

// As the engine packs them: {"f64": "<base64>"}.
export function encodeNumbers(data, type = "f64") {
  const bytes = new Uint8Array(arrayTypes[type].from(data).buffer);
  return { [type]: btoa(String.fromCharCode(...bytes)) };
}

class Recorder {
  constructor() {
    this.values = [];
    this.ops = [];
  }
  leaf(kind, name, shape, data = wave(shape, this.values.length).data) {
    const type = kind === "mask" ? "u8" : "f64";
    const fact = { shape, kind: kind === "mask" ? "constant" : kind, name };
    return this.values.push({ ...fact, numbers: encodeNumbers(data, type) }) - 1;
  }
  op(name, inputs, shape, attributes = {}, { paths, of: backwardOf, where = scope } = {}) {
    const output = this.values.push({ shape, kind: "computed", paths }) - 1;
    const op = { op: name, inputs, output, scope: where, attributes };
    this.ops.push(backwardOf === undefined ? op : { ...op, backward_of: backwardOf });
    return output;
  }
}

export function smallDocument({ scale = true, masked = true } = {}) {
  const r = new Recorder();
  const [rows, square] = [
    [1, 3, 2],
    [1, 3, 3],
  ];
  const named = (...names) => ({ paths: names.map((name) => `${scope}.${name}`) });
  const x = r.leaf("parameter", "x", rows);
  const weights = ["query", "key", "value"].map((name) =>
    r.leaf("parameter", `${scope}.${name}.weight`, [2, 2]),
  );
  const g = r.leaf("constant", "g", rows);
  const hidden = r.leaf("mask", "mask", square, [0, 1, 1, 0, 0, 1, 0, 0, 0]);
  const [q, k, v] = weights.map((weight, i) =>
    r.op("linear", [x, weight], rows, {}, named("qkv"[i])),
  );
  const scaleAt = 4;
  const names = masked ? named("scores") : named("scores", "masked_scores");
  let scores = r.op("matmul", [q, k], square, { transpose_b: true }, scale ? {} : names);
  if (scale) scores = r.op("scale", [scores], square, { factor: 1 / Math.sqrt(2) }, names);
  const maskAt = r.ops.length;
  const fill = (value) => ({ mask: { value: hidden }, value });
  const seen = masked
    ? r.op("masked_fill", [scores], square, fill("-Infinity"), named("masked_scores"))
    : scores;
  const softmaxAt = r.ops.length;
  const p = r.op("softmax", [seen], square, {}, named("weights"));
  const output = r.op("matmul", [p, v], rows, {}, named("heads"));
  const product = r.op("mul", [output, g], rows, {}, { where: "" });
  const loss = r.op("sum_to", [product], [], {}, { paths: ["loss"], where: "" });
  const forwardOps = r.ops.length;

  const back = (name, inputs, shape, attributes, of) =>
    r.op(name, inputs, shape, attributes, { of });
  const dp = back("matmul", [g, v], square, { transpose_b: true }, softmaxAt + 1);
  const dv = back("matmul", [p, g], rows, { transpose_a: true }, softmaxAt + 1);
  const weighted = back("mul", [p, dp], square, {}, softmaxAt);
  const sums = back("sum_to", [weighted], [1, 3, 1], {}, softmaxAt);
  const spread = back("broadcast_to", [sums], square, {}, softmaxAt);
  const centered = back("sub", [dp, spread], square, {}, softmaxAt);
  const dmasked = back("mul", [p, centered], square, {}, softmaxAt);
  const dscores = masked ? back("masked_fill", [dmasked], square, fill(0), maskAt) : dmasked;
  const dproduct = scale
    ? back("scale", [dscores], square, { factor: 1 / Math.sqrt(2) }, scaleAt)
    : dscores;
  const dq = back("matmul", [dproduct, k], rows, {}, 3);
  const dk = back("matmul", [dproduct, q], rows, { transpose_a: true }, 3);
  const parts = [dq, dk, dv].map((d, i) => {
    const rowsOf = r.op("reshape", [d], [1, 3, 2], {}, { of: i });
    const weight = back("reshape", [weights[i]], [1, 2, 2], {}, i);
    const dx = back("matmul", [rowsOf, weight], rows, {}, i);
    const dweight = back("matmul", [rowsOf, x], [1, 2, 2], { transpose_a: true }, i);
    r.values[weights[i]].gradient = back("reshape", [dweight], [2, 2], {}, i);
    return dx;
  });
  const twoParts = back("add", [parts[0], parts[1]], rows, {}, undefined);
  const dx = back("add", [twoParts, parts[2]], rows, {}, undefined);
  const gradients = [
    [x, dx],
    [q, dq],
    [k, dk],
    [v, dv],
    [p, dp],
    [seen, dmasked],
    [scores, dscores],
  ];
  for (const [value, gradient] of [...gradients, [output, g]]) r.values[value].gradient = gradient;
  return {
    format: "qkv lesson",
    version: 1,
    meta: {},
    values: r.values,
    ops: r.ops,
    forward_ops: forwardOps,
    loss,
  };
}

export const valueNamed = (tape, name) =>
  tape.facts.findIndex((fact) => fact.name === name || fact.paths?.includes(name));
export const inLayer = (tape, name) => valueNamed(tape, `${scope}.${name}`);
export const elementsOf = (shape) => Array.from({ length: sizeOf(shape) }, (_, i) => i);
