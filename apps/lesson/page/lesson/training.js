// What the same example looked like during training: a frame for each numbered checkpoint.
import { decodeNumbers, numberOfJson } from "../ops/numbers.js";

// {steps, parameters: by name, of a step, or null, layers: {path: {shape: [heads, rows, columns], shares: [Float64Array of a step]}},
//  series: [{kind, name, head, numbers: [of a step]}]}
export function trainingOf({ history = [] }) {
  const steps = history.map(({ step }) => step);
  const layers = {};
  for (const path of Object.keys(history[0]?.weights ?? {})) {
    layers[path] = {
      shape: history[0].weights[path].shape.slice(-3),
      shares: history.map(({ weights }) => decodeNumbers({ f32: weights[path].f32 })),
    };
  }
  const parameters = history.map((frame) => frame.parameters ?? null);
  return { steps, layers, parameters, series: [lossOf(history), ...entropiesOf(layers), ...normsOf(history)] };
}

const lossOf = (history) => ({
  kind: "loss",
  numbers: history.map(({ loss }) => numberOfJson(loss)),
});

function entropiesOf(layers) {
  return Object.entries(layers).flatMap(([name, { shape, shares }]) =>
    Array.from({ length: shape[0] }, (_, head) => ({
      kind: "entropy",
      name,
      head,
      numbers: shares.map((data) => meanEntropy(ofHead(data, shape, head), shape[1])),
    })),
  );
}

function normsOf(history) {
  return Object.keys(history[0]?.gradient_norms ?? {}).map((name) => ({
    kind: "gradient_norm",
    name,
    numbers: history.map(({ gradient_norms: norms }) => numberOfJson(norms[name])),
  }));
}

export const ofHead = (data, [, rows, columns], head) =>
  data.subarray(head * rows * columns, (head + 1) * rows * columns);

// -Σ p ln p, the mean over the rows
export function meanEntropy(shares, rows) {
  let sum = 0;
  for (const p of shares) if (p > 0) sum -= p * Math.log(p);
  return sum / rows;
}

// The parameters as they were after a step: {values: value → tensor}, or null.
export function parametersAt({ training, document, state }) {
  const at = training.steps.indexOf(Number(state.at ?? NaN));
  const parameters = training.parameters[at];
  if (!parameters || training.steps[at] === document.meta.step) return null;
  const values = new Map();
  document.values.forEach(({ kind, name, shape }, value) => {
    if (kind === "parameter" && parameters[name]) values.set(value, { shape, data: decodeNumbers(parameters[name]) });
  });
  return values;
}
