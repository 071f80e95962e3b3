// A row of scores that are pulled apart: its weights, their entropy, and what comes back through softmax.
import { barChart, withName } from "./parts.js";
import { entropy, softmax, softmaxGradient } from "./numbers.js";
import { bothOf } from "../texts/texts.js";

const scores = [1, 0.5, -0.5, -1];
const pushed = [0, 1, 0, 0]; // dP: the loss wants another weight for the second key
const factors = [0, ...Array.from({ length: 9 }, (_, i) => 2 ** (i - 2))];

export function pulledApart(factor) {
  const p = softmax(scores.map((z) => factor * z));
  const ds = softmaxGradient(p, pushed);
  return {
    p,
    ds,
    entropy: entropy(p),
    "largest weight": Math.max(...p),
    "|dS|": Math.hypot(...ds),
    "sum of dS": ds.reduce((a, b) => a + b, 0),
  };
}

export const softmaxSlider = {
  choices: factors,
  first: 3,
  run: pulledApart,
  rows: ["largest weight", "entropy", "|dS|", "sum of dS"],
  draw: ({ p, ds }) =>
    [
      [p, 1, "softmax.weights"],
      [ds, 0.25, "softmax.gradient"],
    ].map(([numbers, largest, key]) => {
      const bars = numbers.map((number, i) => ({ name: `z${i + 1}`, number }));
      return withName(key, barChart(bars, { title: bothOf(key).join(" "), largest }));
    }),
};
