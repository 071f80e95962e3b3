// Learning by hand: a button makes a step of gradient descent, and every chapter shows the moved numbers.
import { buttonElement, sectionElement } from "./elements.js";
import { element, svgElement } from "../../../report/page/dom.js";
import { fullNumber, shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

const rates = { least: -2, most: 2 }; // powers of ten
const learningChart = { width: 220, height: 64, inset: 6 };

export function learningOf(app) {
  const { lesson } = app;
  const { learning } = lesson;
  if (!learning) return null;
  const { steps, rate } = learning;
  const go = (changes) => app.go(changes, { replace: true });
  const button = (text, changes, disabled) => buttonElement(text, () => go(changes), { disabled });
  const slider = element("input", {
    type: "range",
    min: rates.least,
    max: rates.most,
    step: 0.05,
    value: Math.log10(rate),
    "aria-label": say("learning.rate"),
    "aria-valuetext": shortNumber(rate),
    on: { change: () => go({ rate: String(roundedRate(10 ** slider.valueAsNumber)) }) },
  });
  return sectionElement(
    "learning",
    say("learning.title"),
    element(
      "div",
      { class: "learning-controls" },
      button(say("learning.step"), { learn: String(steps + 1) }, steps >= lesson.mostSteps),
      button(say("learning.start"), { learn: null }, steps === 0),
      element("label", {}, `η = ${shortNumber(rate)} `, slider),
    ),
    element("div", { class: "learning-told" }, element("p", { role: "status", text: toldOf(learning) }), curveOf(learning)),
  );
}

const roundedRate = (rate) => Number(rate.toPrecision(2));

// What the last step did, beside what its gradient said.
function toldOf({ steps, rate, losses, squares }) {
  const now = steps > 0 ? steps - 1 : 0;
  const predicted = shortNumber(rate * squares[now]);
  if (steps === 0) return say("learning.before", { predicted });
  const [before, after] = [losses[steps - 1], losses[steps]];
  const fall = before - after;
  const told = { step: steps, predicted, before: shortNumber(before), after: shortNumber(after), fall: shortNumber(fall) };
  if (!Number.isFinite(after)) return say("learning.lost", told);
  return say(fall > 0 ? "learning.fell" : "learning.rose", told);
}

// The loss after each step.
function curveOf({ steps, losses }) {
  if (steps === 0) return null;
  const { width, height, inset } = learningChart;
  const finite = losses.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const x = (i) => inset + ((width - 2 * inset) * i) / steps;
  const y = (loss) => height - inset - ((height - 2 * inset) * (loss - low)) / (high - low || 1);
  const points = losses.map((loss, i) => [x(i), y(loss)]).filter((at) => at.every(Number.isFinite));
  return svgElement(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": say("learning.curve", { steps, loss: fullNumber(losses.at(-1)) }) },
    svgElement("polyline", { points: points.map((at) => at.map((c) => c.toFixed(1)).join(",")).join(" ") }),
    points.map(([cx, cy]) => svgElement("circle", { cx, cy, r: 2.5 })),
  );
}

// Above every chapter, while its numbers are those after some steps.
export function learningNote(app) {
  const { learning } = app.lesson;
  if (!learning || learning.steps === 0) return null;
  const { steps, rate } = learning;
  const text = `${say("learning.note", { steps, rate: shortNumber(rate) })} ✕`;
  const leave = () => app.go({ learn: null }, { replace: true });
  return buttonElement(text, leave, { class: "learning-note", title: say("learning.start") });
}
