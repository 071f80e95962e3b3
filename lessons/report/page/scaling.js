// Scores of d random numbers, as they are and divided by √d.
import { barChart, named } from "./parts.js";
import { entropy, randomNormals, softmax, variance } from "./numbers.js";

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
  name: ["d, numbers of a query and a key", "d，查询和键的维数"],
  what: [
    "16 random queries and 64 keys; the bars are of one query and 8 keys. Left their softmax as they are, right divided by √d.",
    "随机的 16 个查询与 64 个键；柱形是其中 1 个查询对 8 个键的权重。左：分数直接做 softmax；右：先除以 √d。",
  ],
  choices: sizes,
  first: 6,
  run: measured,
  rows: [
    ["variance", ["variance of the scores", "分数的方差"]],
    ["divided variance", ["… divided by √d", "……除以 √d 后"]],
    ["largest weight", ["largest weight of the row", "一行中最大的权重"]],
    ["divided largest weight", ["… divided by √d", "……除以 √d 后"]],
    ["entropy", ["entropy of the row, in nats", "一行的熵（奈特）"]],
    ["divided entropy", ["… divided by √d", "……除以 √d 后"]],
  ],
  draw: ({ plain, divided }) =>
    [
      [plain, ["not divided", "不除"]],
      [divided, ["divided by √d", "除以 √d"]],
    ].map(([weights, name]) => named(name, barChart(weightBars(weights), { title: name.join(" "), largest: 1 }))),
};
