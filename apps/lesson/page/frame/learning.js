// Learning by hand: a button makes a step of gradient descent, another one step after the other, and every chapter
// shows the moved numbers.
import { buttonElement, sectionElement, sliderElement } from "./elements.js";
import { element } from "../../../report/page/dom.js";
import { shortNumber } from "../ops/numbers.js";
import { learnerBeside } from "../tape/learner.js";
import { say } from "../texts/say.js";
import { sparkline } from "../chapters/training.js";

const longestOnPage = 40; // milliseconds from frame to frame
// Powers of ten; what a step is, and how much it lowers the loss to first order.
const byHand = { rates: [-2, 2], rule: "W ← W − η dW", by: "η ‖dW‖²" };
const byAdam = { rates: [-4, -1], rule: "Adam", by: "−Σ dW ∘ ΔW" };

const roundedRate = (rate) => Number(rate.toPrecision(2));

// {root, step(), run()}, or null; moved(isRunning) is called after each step.
export function learningOf(app, moved) {
  const { lesson } = app;
  if (!lesson.learning) return null;
  const { rate, most } = lesson.learning;
  const { rates: [least, largest], rule, by } = lesson.start.practice ? byAdam : byHand;
  const told = element("p", { role: "status" });
  const curve = element("div");
  const to = (steps) => {
    app.learn(steps);
    show();
    moved(isRunning());
  };
  const step = () => to(lesson.learning.steps + 1);

  // One step a frame, until it is stopped, or there is none left, or it is not shown any more.
  let running = null; // this run, of several
  const isRunning = () => running !== null;
  const run = (wanted) => {
    running = wanted ? {} : null;
    show();
    if (wanted) runOn(running);
    else app.showHeader();
  };
  const runOn = async (own) => {
    const goesOn = () => running === own && root.isConnected && lesson.learning.steps < most;
    let learner = null;
    let [before, now] = [Infinity, Infinity];
    while (goesOn()) {
      [before, now] = [now, await new Promise(requestAnimationFrame)];
      const { descent } = lesson;
      const isNew = lesson.learning.steps === descent.points.length - 1;
      if (isNew && !lesson.start.practice && (learner || now - before > longestOnPage)) {
        learner ??= await learnerBeside(descent, rate);
        await learner.step();
      }
      if (goesOn()) step();
    }
    learner?.end();
    if (running === own && root.isConnected) run(false);
  };

  const stepButton = buttonElement(say("learning.step", { rule }), () => {
    step();
    app.showHeader();
  });
  const runButton = buttonElement("", () => run(!running), { class: "run" });
  const startButton = buttonElement(say("learning.start"), () => {
    running = null;
    to(0);
    app.showHeader();
  });
  const scrub = sliderElement(say("learning.scrub"), 1, 0, {
    on: {
      input: () => {
        running = null;
        to(scrub.valueAsNumber);
      },
      change: () => app.showHeader(),
    },
  });
  const slider = sliderElement(say("learning.rate"), 1, Math.log10(rate), {
    min: least,
    max: largest,
    step: 0.05,
    "aria-valuetext": shortNumber(rate),
    on: { change: () => app.go({ rate: String(roundedRate(10 ** slider.valueAsNumber)), learn: null }, { replace: true }) },
  });
  const curveOf = (name, key) => {
    const { learning: { steps }, descent: { points } } = lesson;
    const line = sparkline([...points.keys()], points.map((point) => point[key]), { isLogarithmic: false });
    line.markAt(steps);
    return element("div", { class: "curve" }, element("span", { text: `${name} ${shortNumber(points[steps][key])}` }), line.root);
  };
  const show = () => {
    const { steps } = lesson.learning;
    stepButton.disabled = isRunning() || steps >= most;
    runButton.disabled = steps >= most;
    startButton.disabled = steps === 0;
    runButton.textContent = isRunning() ? `■ ${say("learning.stop")}` : `▶ ${say("learning.run")}`;
    scrub.max = String(lesson.descent.points.length - 1);
    scrub.value = String(steps);
    scrub.setAttribute("aria-valuetext", String(steps));
    told.textContent = toldOf(lesson, by);
    curve.replaceChildren(curveOf("ℓ", "loss"), curveOf("‖dW‖", "norm"));
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
function toldOf({ learning: { steps }, descent: { points } }, by) {
  const predicted = shortNumber(points[Math.max(0, steps - 1)].fall);
  if (steps === 0) return say("learning.before", { predicted, by });
  const [before, after] = [points[steps - 1].loss, points[steps].loss];
  const fall = before - after;
  const told = { step: steps, by, predicted, before: shortNumber(before), after: shortNumber(after), fall: shortNumber(Math.abs(fall)) };
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
