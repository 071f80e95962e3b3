// Attention to r tokens on each side: which pairs there are.
import { cellMap } from "./parts.js";
import { bothOf } from "../texts/texts.js";

const tokens = 24;
const layers = 3;

const places = [...Array(tokens).keys()];
const band = (r) => places.map((i) => places.map((j) => (Math.abs(i - j) <= r ? 1 : 0)));

export function restricted(r) {
  const rows = band(r);
  const pairs = rows.flat().reduce((a, b) => a + b, 0);
  return {
    rows,
    pairs,
    "by the formula": tokens * (2 * r + 1) - r * (r + 1),
    share: pairs / tokens ** 2,
    reach: Math.min(tokens - 1, layers * r),
  };
}

export const windowSlider = {
  choices: places,
  first: 3,
  run: restricted,
  rows: ["pairs", "by the formula", "share", "reach"],
  draw: ({ rows }) => [cellMap(rows, { title: bothOf("window.band").join(" "), largest: 1, cell: 12 })],
};
