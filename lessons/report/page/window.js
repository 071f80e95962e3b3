// Attention to r tokens on each side: which pairs there are.
import { cellMap } from "./parts.js";

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
  name: ["r, tokens on each side", "r，每侧的词元数"],
  what: [
    "24 tokens; a coloured cell is a pair that is computed. Rows are queries, columns are keys.",
    "24 个词元；有颜色的格子是要计算的一对。行是查询，列是键。",
  ],
  choices: places,
  first: 3,
  run: restricted,
  rows: [
    ["pairs", ["pairs, counted", "数出的对数"]],
    ["by the formula", ["N (2 r + 1) − r (r + 1)", "N (2 r + 1) − r (r + 1)"]],
    ["share", ["share of all N² pairs", "占全部 N² 对的比例"]],
    ["reach", ["tokens away that 3 layers see", "3 层能看到多远"]],
  ],
  draw: ({ rows }) => [cellMap(rows, { title: "band", largest: 1, cell: 12 })],
};
