// The stage: one step at a time for a whole room. A slide has a formula, the matrix of one cell and those that the
// cell is made of; clicks build up its arithmetic: the question, the operands, the products, the answer, and
// in the end the question of the step.
import { buttonElement } from "./elements.js";
import { arithmeticLine } from "../cell/arithmetic.js";
import { tellingCellOf } from "../cell/suggestions.js";
import { isOfModel, stepsInOrder } from "./contents.js";
import { element } from "../../../report/page/dom.js";
import { formula } from "../../../report/page/formula.js";
import { Expression } from "../ops/expression.js";
import { HeatMap, powerOf } from "../matrix/heat_map.js";
import { questionNow } from "./step_head.js";
import { shortNumber } from "../ops/numbers.js";
import { say, stepText } from "../texts/say.js";

const isRevealedAt = 3;
const most = { matrices: 4, width: 190, height: 95 };
const captionOnStage = 44;
const betweenMaps = 48;
const widthOfPhone = 600; // as in stage.css
const largerNames = 1.6; // than beside the panel
const noMarks = { chosen: null, lit: [], fed: [] };

const slideNow = ({ state }) => Number(state.slide ?? 0);

// How many clicks a step takes.
function lastSlide(lesson) {
  if (!lesson.step.layout || !cellOnStage(lesson)) return 0;
  return questionNow(lesson) ? isRevealedAt + 1 : isRevealedAt;
}

// What keys do on the stage: the changes of the state, or null.
export function stageMove(lesson, key) {
  const forward = ["PageDown", "ArrowRight", " ", "n", "]"];
  const back = ["PageUp", "ArrowLeft", "p", "["];
  const steps = stepsInOrder(lesson);
  const to = (step, slide) => step && { step: step.id, cell: null, slide };
  if (key === "Escape") return { style: null, slide: null };
  if (key === "Home") return to(steps[0], null);
  if (key === "End") return to(steps.filter(isOfModel).at(-1), null);
  const by = forward.includes(key) ? 1 : back.includes(key) ? -1 : 0;
  if (by === 0) return null;
  const slide = Math.min(slideNow(lesson), lastSlide(lesson)) + by;
  if (slide >= 0 && slide <= lastSlide(lesson)) return { slide: slide === 0 ? null : String(slide) };
  const next = steps[steps.indexOf(lesson.step) + by];
  return to(next, by > 0 ? null : String(isRevealedAt + 1)) ?? null;
}

// The chosen cell, or a telling one: of the result, or on the way back of a gradient.
function cellOnStage(lesson) {
  const { cell, route } = lesson.state;
  const at = cell && lesson.matrix(cell.key);
  if (at) return { matrix: at, row: cell.row, column: cell.column };
  return tellingCellOf(lesson, route === "back");
}

// Hides the number of the cell until its slide tells it.
export function prepareStage(lesson) {
  const at = lesson.step.layout ? cellOnStage(lesson) : null;
  const isTold = !at || slideNow(lesson) >= isRevealedAt;
  lesson.coveredOnStage = isTold ? null : { key: at.matrix.key, row: at.row, column: at.column };
}

export function stageOf(app) {
  const { lesson } = app;
  const at = lesson.step.layout ? cellOnStage(lesson) : null;
  const slide = Math.min(slideNow(lesson), lastSlide(lesson));
  const body = at ? slideOf(app, at, slide) : [lesson.step.view?.(app) ?? element("p", { text: stepText(lesson.step).what })];
  return element("div", { class: "stage" }, stageLine(app, slide), body);
}

// Where one is, in small letters.
function stageLine(app, slide) {
  const { lesson } = app;
  const steps = stepsInOrder(lesson);
  const place = say("stage.place", { at: steps.indexOf(lesson.step) + 1, of: steps.length });
  const dots = Array.from({ length: lastSlide(lesson) + 1 }, (_, i) => (i <= slide ? "●" : "○")).join("");
  const leave = () => app.go(stageMove(lesson, "Escape"), { replace: true });
  const move = (key, text, label) => {
    const changes = stageMove(lesson, key);
    return buttonElement(text, () => changes && app.go(changes), { "aria-label": say(label) });
  };
  return element(
    "header",
    { class: "stage-line" },
    element("h2", { text: stepText(lesson.step).name }),
    element("span", { text: place }),
    element("span", { class: "dots", "aria-hidden": "true", text: dots }),
    move("PageUp", "←", "step.back"),
    move("PageDown", "→", "step.next"),
    buttonElement(say("stage.leave"), leave),
  );
}

function slideOf(app, { matrix, row, column }, slide) {
  const { lesson } = app;
  const expression = lesson.expression(matrix, row, column);
  const operands = Expression.cellsOf(expression);
  const shown = [matrix, ...matricesWith(lesson, operands, matrix)].slice(0, most.matrices);
  const marks = { ...noMarks, lit: slide > 0 ? operands : [] };
  const maps = shown.map((each) => mapOnStage(app, each));
  maps.forEach((map, i) => map.mark({ ...marks, chosen: i === 0 ? { row, column } : null }));
  fitOnStage(maps, shown);
  const figures = maps.map((map, i) =>
    element("figure", {}, element("figcaption", {}, formula(shown[i].symbol), powerOf(shown[i])), map.root),
  );
  const question = slide > isRevealedAt ? questionNow(lesson) : null;
  return [
    formulaOnStage(ruleOf(lesson.step, matrix)),
    element("div", { class: "stage-maps" }, figures),
    element("div", { class: "stage-arithmetic", role: "status" }, arithmeticOnStage(app, { matrix, row, column, expression, slide })),
    question &&
      element("p", { class: "stage-question" }, element("strong", { text: say(`${question.key}.ask`) }), " ", say(`${question.key}.answer`)),
  ].filter(Boolean);
}

// It is never broken, so a long one is smaller.
function formulaOnStage(text) {
  return element("p", { class: "stage-formula", style: `font-size: min(var(--huge), ${230 / text.length}vw)` }, formula(text));
}

// Of the step, in which operands are.
function matricesWith(lesson, operands, own) {
  const all = lesson.allMatrices();
  const values = new Set(operands.map(({ value }) => value));
  const isOperand = (matrix, i) =>
    matrix !== own && values.has(matrix.value) && all.findIndex((other) => other.value === matrix.value) === i;
  return all.filter(isOperand);
}

// dQ = dZ K of dQ; of what no rule makes, its name.
function ruleOf({ forward, backward }, { symbol, isGradient }) {
  const name = symbol.replace("^T", "");
  return (isGradient ? backward : forward).find((rule) => rule.startsWith(`${name} `)) ?? symbol;
}

function mapOnStage(app, matrix) {
  return new HeatMap(matrix, {
    colours: app.colours,
    chosen: ({ row, column }) => app.go({ cell: { key: matrix.key, row, column }, slide: null }),
    pointed: (at, event) => app.tooltip(at && matrix.describe(at.row, at.column), event),
    largestFont: 34,
    labelSize: 18,
  });
}

// One size of cells for all, in what the lines around leave. On a phone one matrix at a time has all of the width.
function fitOnStage(maps, matrices) {
  const sum = (numbers) => numbers.reduce((all, x) => all + x, 0);
  const besides = innerWidth < widthOfPhone ? (numbers) => Math.max(...numbers) : sum;
  const columns = besides(matrices.map(({ grid }) => grid.columns));
  const rows = Math.max(...matrices.map(({ grid }) => grid.rows));
  const gutters = matrices.map(({ gutter }) => (gutter > 0 ? gutter * largerNames : 0));
  const around = besides(gutters.map((gutter) => gutter + betweenMaps));
  const width = innerWidth - around;
  const height = innerHeight * 0.62 - captionOnStage - 30;
  const cellWidth = Math.max(4, Math.min(most.width, width / columns));
  const cellHeight = Math.max(4, Math.min(most.height, height / rows, cellWidth));
  maps.forEach((map, i) => {
    map.fit({
      cellWidth,
      cellHeight,
      gutter: gutters[i],
      header: matrices[i].headerFor(cellWidth) > 0 ? 28 : 0,
      namesRows: true,
      namesColumns: true,
    });
  });
}

function arithmeticOnStage(app, { matrix, row, column, expression, slide }) {
  const { lesson } = app;
  const name = matrix.name(row, column);
  const told = shortNumber(lesson.evaluate(expression));
  if (slide === 0) return [`${name} = ?`];
  const parts = [`${name} = `, arithmeticLine(app, expression, slide === 1 ? "names" : "numbers", () => {})];
  return slide < isRevealedAt ? parts : [...parts, element("strong", { text: ` = ${told}` })];
}
