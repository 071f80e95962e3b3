// A row of scores that are pulled apart: its weights, their entropy, and what comes back through softmax.
import { barChart, named } from "./parts.js";
import { entropy, softmax, softmaxGradient } from "./numbers.js";

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
  name: ["scores times", "分数乘以"],
  what: [
    "One row of scores, z = (1, ½, −½, −1), times a number. dP is 1 at the second key. The further the scores are apart, the less comes back.",
    "一行分数 z = (1, ½, −½, −1) 乘以一个数。dP 在第二个键上为 1。分数差距越大，传回的梯度越小。",
  ],
  choices: factors,
  first: 3,
  run: pulledApart,
  rows: [
    ["largest weight", ["largest weight", "最大的权重"]],
    ["entropy", ["entropy, in nats", "熵（奈特）"]],
    ["|dS|", ["|dS|, where |dP| is 1", "|dS|（|dP| 为 1）"]],
    ["sum of dS", ["sum of the row of dS", "dS 一行之和"]],
  ],
  draw: ({ p, ds }) =>
    [
      [p, 1, ["weights P", "权重 P"]],
      [ds, 0.25, ["gradient dS", "梯度 dS"]],
    ].map(([numbers, largest, name]) => {
      const bars = numbers.map((number, i) => ({ name: `z${i + 1}`, number }));
      return named(name, barChart(bars, { title: name.join(" "), largest }));
    }),
};
