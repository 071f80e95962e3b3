// A hidden cell to fill in: one for each matrix of this layer that has something to compute.
import { arithmeticLine } from "./arithmetic.js";
import { element } from "./dom.js";
import { Expression } from "./expression.js";
import { formula } from "./formulas.js";
import { fullNumber } from "./numbers.js";
import { say, stepText } from "./texts.js";

const asked = [
  "query",
  "scores",
  "scale",
  "softmax",
  "sum",
  "output",
  "ledger",
  "residual",
  "activation",
  "loss",
];
const mostOperands = 200;
const mostTried = 40;

export function exercisesView(app) {
  const { steps } = app.lesson.chapters;
  const inOrder = asked.map((id) => steps.find((step) => step.id === id)).filter(Boolean);
  const sections = inOrder.map((step) => {
    const items = exercisesOf(app, step);
    return items.length === 0
      ? null
      : element(
          "section",
          {},
          element("h3", { text: stepText(step).name }),
          element("ul", {}, items),
        );
  });
  return element("div", { class: "exercises" }, sections);
}

// Forward the result, backward the gradients of what it was made of.
function exercisesOf(app, step) {
  const { lesson } = app;
  const all = lesson.matrices(step);
  const results = [all[all.length - 1].forward];
  const gradients = all.slice(0, step.id === "ledger" ? 1 : -1).map(({ backward }) => backward);
  return [...results, ...gradients]
    .filter((matrix) => matrix && !matrix.derived)
    .map((matrix) => ({ matrix, at: tellingCell(lesson, matrix) }))
    .filter(({ at }) => at)
    .map(({ matrix, at }) => {
      const cell = { key: matrix.key, ...at };
      return element(
        "li",
        {},
        element(
          "a",
          { href: app.addressOf({ step: step.id, cell, exercise: cell }) },
          formula(matrix.symbol),
          element("span", { text: ` ${say("at_cell", cell)}` }),
        ),
      );
    });
}

// The largest number that was made of several others, and is none of them: where a query sees one
// key, O is V.
function tellingCell(lesson, matrix) {
  const cells = [];
  for (let row = 0; row < matrix.grid.rows; row++) {
    for (let column = 0; column < matrix.grid.columns; column++) {
      const size = Math.abs(matrix.number(row, column));
      if (size > 0 && size < Infinity) cells.push({ row, column, size });
    }
  }
  cells.sort((a, b) => b.size - a.size);
  const isTelling = ({ row, column }) => {
    const operands = Expression.cellsOf(lesson.expression(matrix, row, column));
    const number = matrix.number(row, column);
    const isCopy = operands.some(({ value, index }) => lesson.tape.number(value, index) === number);
    return operands.length > 1 && operands.length <= mostOperands && !isCopy;
  };
  const found = cells.slice(0, mostTried).find(isTelling);
  return found ? { row: found.row, column: found.column } : null;
}

const closeEnough = 0.005;

// In the panel, instead of the number: a field to fill in, and hints, one after the other.
export function exercisePanel(app, matrix, row, column, expression) {
  const { lesson } = app;
  const number = matrix.number(row, column);
  const verdict = element("p", { class: "verdict", role: "status" });
  const input = element("input", { type: "number", step: "any", id: "exercise-answer" });
  const line = (mode) =>
    arithmeticLine(expression, {
      mode,
      lesson,
      chosen: (value, index) => app.goToCell(value, index),
      pointed: (cells) => app.point(cells),
    });
  const formulas = [lesson.step[matrix.isGradient ? "backward" : "forward"]].flat();
  const hints = [() => formulas.map(formula), () => [line("names")], () => [line("numbers")]];
  const given = element("div", { class: "hints" });
  const hintButton = element("button", {
    type: "button",
    text: say("hint"),
    on: {
      click: () => {
        given.append(...(hints.shift()?.() ?? []));
        hintButton.disabled = hints.length === 0;
      },
    },
  });
  const reveal = () => app.go({ exercise: null }, { replace: true });
  const check = (event) => {
    event.preventDefault();
    const answer = input.valueAsNumber;
    const isRight = Math.abs(answer - number) <= closeEnough * Math.max(Math.abs(number), 1e-3);
    verdict.className = `verdict ${isRight ? "good" : "bad"}`;
    verdict.textContent = isRight
      ? `✓ ${say("right_answer", { number: fullNumber(number) })}`
      : `✗ ${say("wrong_answer")}`;
  };
  return [
    element("header", {}, element("h2", { id: "cell-name", text: matrix.name(row, column) })),
    element("p", { class: "place", text: matrix.place(row, column) }),
    element("p", { text: say("exercise_task") }),
    element(
      "form",
      { class: "exercise", on: { submit: check } },
      element("label", { for: "exercise-answer", class: "unseen", text: say("your_answer") }),
      input,
      element("button", { type: "submit", text: say("check_answer") }),
      hintButton,
      element("button", { type: "button", text: say("show_answer"), on: { click: reveal } }),
    ),
    verdict,
    given,
  ];
}
