// The encoding of one position, and its product with that of every other.
import { cellMap, lineChart, named } from "./parts.js";

const positions = 64;
const width = 32;

export function encoding(t) {
  const e = [];
  for (let i = 0; i < width; i += 2) {
    const angle = t / 10000 ** (i / width);
    e.push(Math.sin(angle), Math.cos(angle));
  }
  return e;
}

const product = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

export function placed(t) {
  const e = encoding(t);
  const products = [];
  for (let u = 0; u < positions; u++) products.push(product(e, encoding(u)));
  return {
    e,
    products,
    "|e|²": product(e, e),
    next: product(e, encoding(t + 1)),
    previous: product(e, encoding(t - 1)),
    far: product(e, encoding(t + 16)),
  };
}

export const sinusoidSlider = {
  name: ["position t", "位置 t"],
  what: [
    "Above e_t: 32 numbers, sine and cosine in turn, the fast ones first. Below its product with each of 64 positions: the hill moves with t and keeps its form.",
    "上：e_t 的 32 个数，正弦余弦交替，快的在前。下：它与 64 个位置的点积：山峰随 t 移动，形状不变。",
  ],
  choices: Array.from({ length: positions }, (_, t) => t),
  first: 20,
  run: placed,
  rows: [
    ["|e|²", ["e_t times itself", "e_t 与自身的点积"]],
    ["next", ["e_t times that of t + 1", "e_t 与 t + 1 的点积"]],
    ["previous", ["e_t times that of t − 1", "e_t 与 t − 1 的点积"]],
    ["far", ["e_t times that of t + 16", "e_t 与 t + 16 的点积"]],
  ],
  draw: ({ e, products }, t) => [
    named(["e_t", "e_t"], cellMap([e], { title: "e_t", largest: 1, cell: 17 })),
    named(["e_t · e_u, u = 0 … 63", "e_t · e_u，u = 0 … 63"], lineChart(products, { title: "e_t · e_u", marked: t })),
  ],
};
