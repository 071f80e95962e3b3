// node serve_graph.mjs RUNTIME MODEL.onnx: reads inputs of the graph, a line of JSON each, and writes what it makes of them.
import { createInterface } from "node:readline";

const [runtime, path] = process.argv.slice(2);
const ort = await import(runtime);
ort.env.wasm.numThreads = 1;
const model = await ort.InferenceSession.create(path);

const read = {
  int64: (data) => BigInt64Array.from(data, BigInt),
  bool: (data) => Uint8Array.from(data),
  float32: (data) => Float32Array.from(data),
};
for await (const line of createInterface({ input: process.stdin })) {
  const feeds = {};
  for (const [name, { type, dims, data }] of Object.entries(JSON.parse(line))) {
    feeds[name] = new ort.Tensor(type, read[type](data), dims);
  }
  const made = Object.entries(await model.run(feeds)).map(([name, { dims, data }]) => [name, { dims, data: [...data] }]);
  process.stdout.write(`${JSON.stringify(Object.fromEntries(made))}\n`);
}
