// node run_graphs.mjs RUNTIME FOLDER…: runs model.onnx of each folder on batches.safetensors, and step.onnx, where there is
// one, token by token. Prints a line for each: how far logits are from those in the batches, as a share of the largest.
import { existsSync, readFileSync } from "node:fs";

const [runtime, ...folders] = process.argv.slice(2);
const ort = await import(runtime);
ort.env.wasm.numThreads = 1;

const TYPES = {
  F32: ["float32", Float32Array],
  F64: ["float32", Float64Array], // qkv's logits
  I64: ["int64", BigInt64Array],
  BOOL: ["bool", Uint8Array],
};

/** The tensors of a safetensors file by their names. */
function readTensors(path) {
  const bytes = readFileSync(path);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const tensors = new Map();
  for (const [name, entry] of Object.entries(JSON.parse(bytes.toString("utf8", 8, start)))) {
    if (name === "__metadata__") continue;
    const [type, Numbers] = TYPES[entry.dtype];
    const [begin, end] = entry.data_offsets;
    const own = bytes.buffer.slice(bytes.byteOffset + start + begin, bytes.byteOffset + start + end);
    const numbers = new Numbers(own);
    tensors.set(name, new ort.Tensor(type, entry.dtype === "F64" ? Float32Array.from(numbers) : numbers, entry.shape));
  }
  return tensors;
}

const sizeOf = (dims) => dims.reduce((a, b) => a * b, 1);

const noPadding = ([rows, length]) =>
  new ort.Tensor("bool", new Uint8Array(rows * length), [rows, length]);

/** The inputs of batch n, by the names of the graph: a batch without padding has none. */
function inputsOf(tensors, n, names) {
  const inputs = {};
  let k = 0;
  for (const name of names.filter((each) => each !== "padding")) {
    inputs[name] = tensors.get(k === 0 ? `inputs.${n}` : `inputs.${n}.${k}`);
    k += 1;
  }
  if (names.includes("padding")) {
    inputs.padding = tensors.get(`inputs.${n}.${k}`) ?? noPadding((inputs.source ?? inputs.tokens).dims);
  }
  return inputs;
}

/** Columns begin … end - 1 of tokens [B, T]. */
function columns(tokens, begin, end) {
  const [rows, length] = tokens.dims;
  const of = (_, row) => [...tokens.data.subarray(row * length + begin, row * length + end)];
  return new ort.Tensor("int64", BigInt64Array.from(Array.from({ length: rows }, of).flat()), [rows, end - begin]);
}

/** The logits [B, T, V] of steps: the first reads half of the tokens, each of the others one. */
async function logitsOfSteps(step, model, inputs) {
  const target = "target" in inputs ? "target" : "tokens";
  const feeds = {};
  if (target === "target") {
    feeds.encoded = (await model.run(inputs)).encoded;
    feeds.padding = inputs.padding;
  }
  const [rows, length] = inputs[target].dims;
  for (const { name, shape } of step.inputMetadata) {
    if (!name.startsWith("past_")) continue;
    feeds[name] = new ort.Tensor("float32", new Float32Array(0), [rows, shape[1], 0, shape[3]]);
  }
  const parts = [];
  for (let t = 0; t < length; t += parts.at(-1).dims[1]) {
    feeds[target] = columns(inputs[target], t, t === 0 ? Math.ceil(length / 2) : t + 1);
    const made = await step.run(feeds);
    parts.push(made.logits);
    for (const name of Object.keys(feeds)) {
      if (name.startsWith("past_")) feeds[name] = made[name.replace("past_", "present_")];
    }
  }
  const classes = parts[0].dims[2];
  const data = new Float32Array(rows * length * classes);
  let begin = 0;
  for (const part of parts) {
    const count = part.dims[1] * classes;
    for (let row = 0; row < rows; row += 1) {
      data.set(part.data.subarray(row * count, (row + 1) * count), row * length * classes + begin);
    }
    begin += count;
  }
  return new ort.Tensor("float32", data, [rows, length, classes]);
}

function difference(made, expected) {
  if (String(made.dims) !== String(expected.dims)) throw new Error(`shape ${made.dims}, not ${expected.dims}`);
  let largest = 0, worst = 0;
  for (let i = 0; i < sizeOf(expected.dims); i += 1) {
    largest = Math.max(largest, Math.abs(expected.data[i]));
    worst = Math.max(worst, Math.abs(made.data[i] - expected.data[i])); // NaN stays
  }
  return worst === 0 ? 0 : worst / largest;
}

for (const folder of folders) {
  const open = (file) => ort.InferenceSession.create(`${folder}/${file}`);
  const tensors = readTensors(`${folder}/batches.safetensors`);
  const model = await open("model.onnx");
  const step = existsSync(`${folder}/step.onnx`) ? await open("step.onnx") : null;
  const found = { logits: 0, steps: step ? 0 : null };
  for (let n = 0; tensors.has(`inputs.${n}`); n += 1) {
    const inputs = inputsOf(tensors, n, model.inputNames);
    const expected = tensors.get(`logits.${n}`);
    found.logits = Math.max(found.logits, difference((await model.run(inputs)).logits, expected));
    if (step) {
      const made = await logitsOfSteps(step, model, inputs);
      found.steps = Math.max(found.steps, difference(made, expected));
    }
  }
  await model.release();
  await step?.release();
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
