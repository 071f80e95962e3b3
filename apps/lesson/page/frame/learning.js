// Learning by hand: a button makes a step of gradient descent, another one step after the other, and every chapter
// shows the moved numbers.
import { buttonElement, sectionElement } from "./elements.js";
import { element } from "../../../report/page/dom.js";
import { shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";
import { sparkline } from "../chapters/training.js";

const rates = { least: -2, most: 2 }; // powers of ten

const roundedRate = (rate) => Number(rate.toPrecision(2));

// {root, step(), run()}, or null; moved(isRunning) is called after each step.
export function learningOf(app, moved) {
  const { lesson } = app;
  if (!lesson.learning) return null;
  const { rate, most } = lesson.learning;
  const told = element("p", { role: "status" });
  const curve = element("div");
  const to = (steps) => {
    app.learn(steps);
    show();
    moved(isRunning());
  };
  const step = () => to(lesson.learning.steps + 1);

  // One step a frame, until it is stopped, or there is none left, or it is not shown any more.
  let running = false;
  const isRunning = () => running;
  const run = (wanted) => {
    running = wanted;
    show();
    if (wanted) requestAnimationFrame(frame);
    else app.showHeader();
  };
  const frame = () => {
    if (!running || !root.isConnected) return;
    if (lesson.learning.steps === most) {
      run(false);
      return;
    }
    step();
    requestAnimationFrame(frame);
  };

  const stepButton = buttonElement(say("learning.step"), () => {
    step();
    app.showHeader();
  });
  const runButton = buttonElement("", () => run(!running), { class: "run" });
  const startButton = buttonElement(say("learning.start"), () => {
    running = false;
    to(0);
    app.showHeader();
  });
  const scrub = element("input", {
    type: "range",
    min: 0,
    step: 1,
    "aria-label": say("learning.scrub"),
    on: {
      input: () => {
        running = false;
        to(scrub.valueAsNumber);
      },
      change: () => app.showHeader(),
    },
  });
  const slider = element("input", {
    type: "range",
    min: rates.least,
    max: rates.most,
    step: 0.05,
    value: Math.log10(rate),
    "aria-label": say("learning.rate"),
    "aria-valuetext": shortNumber(rate),
    on: { change: () => app.go({ rate: String(roundedRate(10 ** slider.valueAsNumber)), learn: null }, { replace: true }) },
  });
  const show = () => {
    const { steps, descent } = lesson.learning;
    stepButton.disabled = running || steps >= most;
    runButton.disabled = steps >= most;
    startButton.disabled = steps === 0;
    runButton.textContent = running ? `■ ${say("learning.stop")}` : `▶ ${say("learning.run")}`;
    scrub.max = String(descent.points.length - 1);
    scrub.value = String(steps);
    scrub.setAttribute("aria-valuetext", String(steps));
    told.textContent = toldOf(lesson.learning);
    const line = sparkline([...descent.points.keys()], descent.points.map(({ loss }) => loss), { isLogarithmic: false });
    line.markAt(steps);
    curve.replaceChildren(line.root);
  };
  const root = sectionElement(
    "learning",
    say("learning.title"),
    element(
      "div",
      { class: "learning-controls" },
      stepButton,
      runButton,
      startButton,
      element("label", {}, `${say("learning.steps")} `, scrub),
      element("label", {}, `η = ${shortNumber(rate)} `, slider),
    ),
    element("div", { class: "learning-told" }, told, curve),
  );
  show();
  return { root, step, run };
}

// What the last step did, beside what its gradient said.
function toldOf({ steps, rate, descent: { points } }) {
  const predicted = shortNumber(rate * points[Math.max(0, steps - 1)].square);
  if (steps === 0) return say("learning.before", { predicted });
  const [before, after] = [points[steps - 1].loss, points[steps].loss];
  const fall = before - after;
  const told = { step: steps, predicted, before: shortNumber(before), after: shortNumber(after), fall: shortNumber(fall) };
  if (!Number.isFinite(after)) return say("learning.lost", told);
  return say(fall > 0 ? "learning.fell" : "learning.rose", told);
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
