// The encoding of one position, and its product with that of every other.
import { cellMap, lineChart, withName } from "./parts.js";

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
  choices: Array.from({ length: positions }, (_, t) => t),
  first: 20,
  run: placed,
  rows: ["|e|²", "next", "previous", "far"],
  draw: ({ e, products }, t) => [
    withName("sinusoid.encoding", cellMap([e], { title: "e_t", largest: 1, cell: 17 })),
    withName("sinusoid.products", lineChart(products, { title: "e_t · e_u", marked: t })),
  ],
};
