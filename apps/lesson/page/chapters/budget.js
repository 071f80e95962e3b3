// Softmax's backward as a budget. A row of P has the length 1; each key has a piece of it, as wide as its share
// and as high as the loss's wish for it, −dP. The area between a piece and the average wish is −dS:
//   −dS_j = P_j (−dP_j − Σ_k P_k (−dP_k))
// so what is above the average grows at the cost of what is below, and the areas add up to 0.
import { foldedDrawing } from "../frame/elements.js";
import { element, svgElement } from "../../../report/page/dom.js";
import { shortNumber } from "../ops/numbers.js";
import { signed } from "./opening/bars.js";
import { say } from "../texts/say.js";

const budgetSize = { width: 520, height: 116, top: 14, bottom: 46 };
const widthOfText = 44; // of a piece that has room for its name and number

// {root, show()}: the row of the cell that is chosen.
export function budgetOf(app) {
  if (app.lesson.covered) return null; // it would tell what is hidden
  return foldedDrawing("budget", say("budget.title"), () => contents(app));
}

function contents({ lesson }) {
  const [shares, wishes, changes] = rowOfBudget(lesson);
  const average = shares.reduce((sum, p, j) => sum + p * wishes[j], 0);
  const names = lesson.chapters.keys;
  const query = lesson.chapters.queries[rowNow(lesson)];
  if (![...shares, ...wishes].every(Number.isFinite)) return [];
  const told = { query, average: shortNumber(average) };
  const pieces = shares.map((share, j) => ({ share, wish: wishes[j], change: changes[j], name: names[j] ?? j }));
  return [
    drawnBudget(pieces.filter(({ share }) => share > 0), average, say("budget.drawing", told)),
    element("p", {}, say("budget.how", told)),
  ];
}

// Of P, −dP and −dS.
function rowOfBudget(lesson) {
  const row = rowNow(lesson);
  const [scores] = lesson.matrices();
  const weights = lesson.matrices().at(-1);
  const columns = Array.from({ length: weights.forward.grid.columns }, (_, column) => column);
  const of = (matrix, sign) => columns.map((column) => sign * (matrix?.number(row, column) ?? NaN));
  return [of(weights.forward, 1), of(weights.backward, -1), of(scores.backward, -1)];
}

// Of the chosen cell, or the one of which the loss wishes most.
function rowNow(lesson) {
  const { forward, backward } = lesson.matrices().at(-1);
  const { rows, columns } = forward.grid;
  if (lesson.state.cell?.row < rows) return lesson.state.cell.row;
  const wish = (row) => Math.max(...Array.from({ length: columns }, (_, column) => Math.abs(backward?.number(row, column) ?? 0)));
  const wishes = Array.from({ length: rows }, (_, row) => wish(row));
  return wishes.lastIndexOf(Math.max(...wishes));
}

function drawnBudget(pieces, average, label) {
  const { width, height, top, bottom } = budgetSize;
  const all = [...pieces.map(({ wish }) => wish), average];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const y = (wish) => top + ((height - top - bottom) * (high - wish)) / (high - low || 1);
  let x = 0;
  const drawn = pieces.flatMap((piece) => {
    const from = x;
    x += piece.share * width;
    return pieceOf(piece, { from, to: x, y, average });
  });
  return svgElement(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    drawn,
    svgElement("line", { class: "average", x1: 0, x2: width, y1: y(average), y2: y(average) }),
    svgElement("line", { class: "ends", x1: 0, x2: width, y1: height - 32, y2: height - 32 }),
  );
}

function pieceOf({ share, wish, change, name }, { from, to, y, average }) {
  const grows = wish > average;
  const edges = [y(wish), y(average)].sort((a, b) => a - b);
  const middle = (from + to) / 2;
  const text = (className, at, content) =>
    svgElement("text", { class: className, x: middle, y: at, text: content });
  const area = svgElement("rect", {
    class: grows ? "more" : "less",
    x: from + 0.5,
    width: Math.max(0, to - from - 1),
    y: edges[0],
    height: edges[1] - edges[0],
  });
  const tick = svgElement("line", { class: "ends", x1: to, x2: to, y1: budgetSize.height - 36, y2: budgetSize.height - 28 });
  if (to - from < widthOfText) return [area, tick];
  return [
    area,
    tick,
    text("change", grows ? edges[0] - 3 : edges[1] + 11, signed(change)),
    text("name", budgetSize.height - 17, name),
    text("share", budgetSize.height - 3, shortNumber(share)),
  ];
}
