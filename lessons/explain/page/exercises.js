// A hidden cell to fill in: one for each matrix of this layer that has something to compute.
import { arithmeticLine } from "./arithmetic.js";
import { element } from "./dom.js";
import { Expression } from "./expression.js";
import { formula } from "./formulas.js";
import { fullNumber } from "./numbers.js";
import { say, stepText } from "./texts.js";

const asked = ["query", "scores", "softmax", "sum", "output", "residual", "loss"];

export function exercisesView(app) {
  const { lesson } = app;
  const { steps } = lesson.chapters;
  const items = asked
    .map((id) => steps.find((step) => step.id === id))
    .filter(Boolean)
    .flatMap((step) => exercisesOf(app, step));
  return element("ol", { class: "exercises" }, items);
}

// Forward the result, backward its operands' gradients: the cell with the largest number.
function exercisesOf(app, step) {
  const { lesson } = app;
  return lesson
    .matrices(step)
    .flatMap(({ forward, backward }) => [forward, backward])
    .filter((matrix) => matrix && !matrix.derived && isComputedHere(lesson, matrix))
    .map((matrix) => {
      const cell = { key: matrix.key, ...largestCell(matrix) };
      return element(
        "li",
        {},
        element(
          "a",
          { href: app.addressOf({ step: step.id, cell, exercise: cell }) },
          formula(matrix.symbol),
          element("span", { text: ` ${say("at_cell", cell)} · ${stepText(step).name}` }),
        ),
      );
    });
}

// Whether its cells are made of several others, and not copied or given.
function isComputedHere(lesson, matrix) {
  const { row, column } = largestCell(matrix);
  const count = Expression.cellsOf(lesson.expression(matrix, row, column)).length;
  return count > 1 && count <= 200;
}

function largestCell(matrix) {
  let best = { row: 0, column: 0, size: -1 };
  for (let row = 0; row < matrix.grid.rows; row++) {
    for (let column = 0; column < matrix.grid.columns; column++) {
      const size = Math.abs(matrix.number(row, column));
      if (size > best.size && size < Infinity) best = { row, column, size };
    }
  }
  return { row: best.row, column: best.column };
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
