// Scores of d random numbers, as they are and divided by √d.
import { barChart, withName } from "./parts.js";
import { entropy, randomNormals, softmax, variance } from "./numbers.js";
import { bothOf } from "../texts/texts.js";

const sizes = Array.from({ length: 11 }, (_, power) => 2 ** power);
const queries = 16;
const keys = 64;
const shownKeys = 8;

// The variance of all scores of 16 queries and 64 keys, and the weights of the first query and 8 keys.
export function measured(d) {
  const numbers = randomNormals((queries + keys) * d);
  const scores = [];
  for (let i = 0; i < queries; i++) {
    for (let j = 0; j < keys; j++) {
      let score = 0;
      for (let c = 0; c < d; c++) score += numbers[i * d + c] * numbers[(queries + j) * d + c];
      scores.push(score);
    }
  }
  const row = scores.slice(0, shownKeys);
  const plain = softmax(row);
  const divided = softmax(row.map((score) => score / Math.sqrt(d)));
  return {
    variance: variance(scores),
    "divided variance": variance(scores) / d,
    plain,
    divided,
    "largest weight": Math.max(...plain),
    "divided largest weight": Math.max(...divided),
    entropy: entropy(plain),
    "divided entropy": entropy(divided),
  };
}

const weightBars = (weights) => weights.map((number, i) => ({ name: `k${i + 1}`, number }));

export const scalingSlider = {
  choices: sizes,
  first: 6,
  run: measured,
  rows: [
    "variance",
    "divided variance",
    "largest weight",
    "divided largest weight",
    "entropy",
    "divided entropy",
  ],
  draw: ({ plain, divided }) =>
    [
      [plain, "scaling.not divided"],
      [divided, "scaling.divided"],
    ].map(([weights, key]) => withName(key, barChart(weightBars(weights), { title: bothOf(key).join(" "), largest: 1 }))),
};
