// In the panel of a hidden cell, instead of its number: a field to fill in, and hints, one after the other.
import { arithmeticLine } from "./arithmetic.js";
import { element } from "../frame/dom.js";
import { formula } from "../frame/formulas.js";
import { fullNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

const closeEnough = 0.005;

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
