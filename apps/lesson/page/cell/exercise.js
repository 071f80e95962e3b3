// In the panel of a hidden cell, instead of its number: a field to fill in, and hints, one after the other.
import { buttonElement } from "../frame/elements.js";
import { arithmeticLine } from "./arithmetic.js";
import { endsOf, exerciseList, pathOfExercises } from "../chapters/exercises.js";
import { element } from "../../../report/page/dom.js";
import { formula } from "../../../report/page/formula.js";
import { fullNumber, shortNumber } from "../ops/numbers.js";
import { mistakes } from "../tape/mistakes.js";
import { say } from "../texts/say.js";

const closeEnough = 0.005;

const isNear = (answer, number) =>
  Math.abs(answer - number) <= closeEnough * Math.max(Math.abs(number), 1e-3);

// Of a wrong answer: which mistake gives it, if the page knows one.
function whatIsWrong({ tape, state }, matrix, index, answer) {
  const number = tape.number(matrix.value, index);
  for (const { id, isPossible, plant } of mistakes) {
    if (!isPossible(tape, state.layer)) continue;
    const mistaken = plant(tape, state.layer).number(matrix.value, index);
    if (isNear(answer, mistaken) && !isNear(mistaken, number)) {
      return say("exercise.mistaken", { number: shortNumber(answer), name: say(`break.${id}`) });
    }
  }
  return say(isNear(answer, -number) ? "exercise.wrong_sign" : "exercise.wrong");
}

const placeOnPath = (lesson, all, key) => all.findIndex(({ step, cell }) => step === lesson.step.id && cell.key === key);

// How far one has come on the path.
function progress(lesson, key) {
  if (!lesson.state.trail) return null;
  const all = pathOfExercises(lesson);
  const at = placeOnPath(lesson, all, key) + 1;
  return at > 0 ? element("p", { class: "trail", text: say("trail.at", { at, of: all.length, ...endsOf(all) }) }) : null;
}

function nextExercise(app, key) {
  const { lesson } = app;
  const all = lesson.state.trail ? pathOfExercises(lesson) : exerciseList(lesson);
  const now = placeOnPath(lesson, all, key);
  const next = all[now + 1];
  if (!next && lesson.state.trail) return [" ", say("trail.done", endsOf(all))];
  if (!next) return [];
  const state = { step: next.step, cell: next.cell, exercise: next.cell };
  return [" ", element("a", { href: app.addressOf(state), text: say("exercise.next") })];
}

export const headingOf = (matrix, row, column) => [
  element("h2", { id: "cell-name", text: matrix.name(row, column) }),
  element("p", { class: "place", text: matrix.place(row, column) }),
];

export function exercisePanel(app, matrix, row, column, expression) {
  const { lesson } = app;
  const number = matrix.number(row, column);
  const verdict = element("p", { class: "verdict", role: "status" });
  const input = element("input", { type: "number", step: "any", id: "exercise-answer" });
  const rules = lesson.step[matrix.isGradient ? "backward" : "forward"];
  const hints = [() => rules.map(formula), ...["names", "numbers"].map((mode) => () => [arithmeticLine(app, expression, mode)])];
  const given = element("div", { class: "hints" });
  const hintButton = buttonElement(say("exercise.hint"), () => {
    given.append(...(hints.shift()?.() ?? []));
    hintButton.disabled = hints.length === 0;
  });
  const reveal = () => app.go({ exercise: null }, { replace: true });
  const check = (event) => {
    event.preventDefault();
    const answer = input.valueAsNumber;
    const isRight = isNear(answer, number);
    verdict.className = `verdict ${isRight ? "good" : "bad"}`;
    verdict.textContent = isRight
      ? `✓ ${say("exercise.right", { number: fullNumber(number) })}`
      : `✗ ${whatIsWrong(lesson, matrix, matrix.index(row, column), answer)}`;
    if (isRight) verdict.append(...nextExercise(app, matrix.key));
  };
  return [
    element("header", {}, headingOf(matrix, row, column)),
    element("p", { text: say("exercise.task") }),
    progress(lesson, matrix.key),
    element(
      "form",
      { class: "exercise", on: { submit: check } },
      element("label", { for: "exercise-answer", class: "unseen", text: say("exercise.your_answer") }),
      input,
      element("button", { type: "submit", text: say("exercise.check") }),
      hintButton,
      buttonElement(say("exercise.show"), reveal),
    ),
    verdict,
    given,
  ].filter(Boolean);
}
