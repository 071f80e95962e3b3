// A hidden cell to fill in: one for each matrix of this layer that has something to compute.
import { buttonElement } from "../frame/elements.js";
import { element } from "../../../report/page/dom.js";
import { largestCell } from "../cell/suggestions.js";
import { Expression } from "../ops/expression.js";
import { formula } from "../../../report/page/formula.js";
import { symbolText } from "../lesson/symbols.js";
import { shortNumber } from "../ops/numbers.js";
import { say, stepText } from "../texts/say.js";

const mostOperands = 200;

export const exercisesChapter = {
  id: "exercises",
  view(app) {
    const { lesson } = app;
    const all = exerciseList(lesson);
    const sections = lesson.chapters.steps.map((step) => {
      const items = all.filter((each) => each.step === step.id).map((each) => exerciseItem(app, each));
      if (items.length === 0) return null;
      const heading = element("h3", { text: stepText(step).name });
      return element("section", {}, heading, element("ul", {}, items));
    });
    return element("div", { class: "exercises" }, pathView(app), sections, sheetView(app));
  },
};

// On the way back, one cell after the other, from the loss to the map of the queries.
const stations = [
  { id: "loss", keys: ["dlogits"] },
  { id: "logits", keys: ["dH", "dh", "dX_out"] },
  { id: "down", keys: ["dG"] },
  { id: "output", keys: ["dC"] },
  { id: "sum", keys: ["dP"] },
  { id: "softmax", keys: ["dS_m", "dS"] },
  { id: "scores", keys: ["dQ"] },
  { id: "query", keys: ["dW_q"] },
];

// [{step, symbol, cell}]; what this layer does not have is left out.
export function pathOfExercises(lesson) {
  return stations.flatMap(({ id, keys }) => {
    const step = lesson.chapters.steps.find((each) => each.id === id);
    const matrix = step && keys.map((key) => lesson.matrix(key, step)).find(Boolean);
    const at = matrix && tellingCell(lesson, matrix);
    return at ? [{ step: id, symbol: matrix.symbol, cell: { key: matrix.key, ...at }, matrix }] : [];
  });
}

// The ends of a path, for texts.
export const endsOf = (path) => ({ first: symbolText(path[0].symbol), last: symbolText(path.at(-1).symbol) });

function pathView(app) {
  const path = pathOfExercises(app.lesson);
  if (path.length < 2) return null;
  const [first] = path;
  const start = app.addressOf({ step: first.step, cell: first.cell, exercise: first.cell, trail: "1" });
  return element(
    "section",
    { class: "exercise-path" },
    element("h3", { text: say("trail.title", { count: path.length, ...endsOf(path) }) }),
    element("p", {}, path.flatMap(({ symbol }, i) => [i > 0 ? " → " : "", formula(symbol)])),
    element("a", { class: "begin", href: start, text: say("trail.begin") }),
    " ",
    buttonElement(say("trail.print"), () => window.print()),
  );
}

// On paper: the cells of the path with what they are made of, and blanks; the solutions on a page of their own.
function sheetView(app) {
  const { lesson } = app;
  const numberAt = (value, index) => shortNumber(lesson.tape.number(value, index));
  const path = pathOfExercises(lesson);
  if (path.length < 2) return null;
  const tasks = path.map(({ step, matrix, cell }) => {
    const own = lesson.chapters.steps.find((each) => each.id === step);
    const expression = lesson.expression(matrix, cell.row, cell.column);
    const operands = new Map(Expression.cellsOf(expression).map(({ value, index }) => [lesson.name(value, index), numberAt(value, index)]));
    return {
      name: matrix.name(cell.row, cell.column),
      formulas: own.backward,
      given: [...operands].map(([name, number]) => `${name} = ${number}`).join(", "),
      number: shortNumber(matrix.number(cell.row, cell.column)),
    };
  });
  const list = (className, item) => element("ol", { class: className }, tasks.map((task) => element("li", {}, item(task))));
  return element(
    "section",
    { class: "exercise-sheet" },
    element("h2", { text: say("trail.title", { count: tasks.length, ...endsOf(path) }) }),
    list("tasks", ({ name, formulas, given }) => [
      element("p", {}, formulas.flatMap((text) => [formula(text), "   "])),
      element("p", { text: given }),
      element("p", { text: `${name} = ____________` }),
    ]),
    element("h2", { class: "solutions", text: say("trail.solutions") }),
    list("answers", ({ name, number }) => `${name} = ${number}`),
  );
}

// [{step, symbol, cell}] of this layer.
export function exerciseList(lesson) {
  const asked = lesson.chapters.steps.filter((step) => step.hasExercises);
  return asked.flatMap((step) => exercisesOf(lesson, step));
}

// Forward the result, backward the gradients of what it was made of.
function exercisesOf(lesson, step) {
  const all = lesson.matrices(step);
  const results = [all[all.length - 1].forward];
  const gradients = all.slice(0, step.id === "ledger" ? 1 : -1).map(({ backward }) => backward);
  return [...results, ...gradients]
    .filter((matrix) => matrix && !matrix.derived)
    .map((matrix) => ({ matrix, at: tellingCell(lesson, matrix) }))
    .filter(({ at }) => at)
    .map(({ matrix, at }) => {
      const cell = { key: matrix.key, ...at };
      return { step: step.id, symbol: matrix.symbol, cell };
    });
}

function exerciseItem(app, { step, symbol, cell }) {
  const place = element("span", { text: ` ${say("matrix.at_cell", cell)}` });
  const href = app.addressOf({ step, cell, exercise: cell });
  return element("li", {}, element("a", { href }, formula(symbol), place));
}

// The largest number that was made of several others, and is none of them: where a query sees one
// key, O is V.
function tellingCell(lesson, matrix) {
  const isTelling = ({ row, column }) => {
    const operands = Expression.cellsOf(lesson.expression(matrix, row, column));
    const number = matrix.number(row, column);
    const isCopy = operands.some(({ value, index }) => lesson.tape.number(value, index) === number);
    return operands.length > 1 && operands.length <= mostOperands && !isCopy;
  };
  const found = largestCell([matrix], isTelling);
  return found ? { row: found.row, column: found.column } : null;
}
