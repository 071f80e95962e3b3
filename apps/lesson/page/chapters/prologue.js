// What the letter d means: one number of Q is moved, and the loss follows along a curve whose slope is dQ.
import { buttonElement } from "../frame/elements.js";
import { element, svgElement } from "../../../report/page/dom.js";
import { lossAlong } from "../tape/differences.js";
import { shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

const chart = { width: 520, height: 240, inset: 14 };
const pointsOfCurve = 41;

export const prologueChapter = {
  id: "prologue",
  questions: [{ key: "prologue.which_way" }],
  step: ({ anatomy, layer }) => (anatomy.gradient(layer.q) === undefined ? null : {}),
  view(app) {
    const { lesson } = app;
    const { tape, layer } = lesson;
    const index = steepest(lesson);
    const start = tape.number(layer.q, index);
    const slope = tape.values[lesson.anatomy.gradient(layer.q)].data[index];
    const lossAt = lossAlong(tape, layer.q, index);
    const reach = Math.max(1, 2 * Math.abs(start));
    const numbers = Array.from(
      { length: pointsOfCurve },
      (_, i) => start + reach * ((2 * i) / (pointsOfCurve - 1) - 1),
    );
    const curve = drawnCurve(numbers, numbers.map(lossAt), { start, loss: tape.loss(), slope });
    const name = lesson.name(layer.q, index);
    const said = element("p", { class: "prologue-said", role: "status" });
    const show = (number) => {
      const loss = lossAt(number);
      curve.markAt(number, loss);
      const moved = number - start;
      said.textContent = say(Math.abs(moved) < 1e-9 ? "prologue.start" : "prologue.moved", {
        name,
        number: shortNumber(number),
        loss: shortNumber(loss),
        slope: shortNumber(slope),
        moved: shortNumber(moved),
        change: shortNumber(loss - tape.loss()),
        told: shortNumber(slope * moved),
      });
    };
    const slider = element("input", {
      type: "range",
      min: numbers[0],
      max: numbers.at(-1),
      step: "any",
      value: start,
      "aria-label": say("prologue.slider", { name }),
      on: { input: () => show(slider.valueAsNumber) },
    });
    const again = () => {
      slider.value = start;
      show(start);
    };
    show(start);
    return element(
      "div",
      { class: "prologue" },
      curve.root,
      element("div", { class: "prologue-slider" }, slider, buttonElement(say("edit.undo"), again)),
      said,
      element("p", { text: say("prologue.end") }),
    );
  },
};

// The number of Q with the largest slope, in the head that is open.
function steepest({ anatomy, tape, layer, state }) {
  const [, , heads, width] = anatomy.shape(layer.q);
  const { data } = tape.values[anatomy.gradient(layer.q)];
  let best = state.head * width;
  data.forEach((x, i) => {
    const isOfHead = Math.floor(i / width) % heads === state.head;
    if (isOfHead && Math.abs(x) > Math.abs(data[best])) best = i;
  });
  return best;
}

// {root, markAt(number, loss)}: the loss over the number, and its tangent where it is.
function drawnCurve(numbers, losses, { start, loss, slope }) {
  const { width, height, inset } = chart;
  const low = Math.min(...losses);
  const span = Math.max(...losses) - low || 1;
  const x = (number) =>
    inset + ((width - 2 * inset) * (number - numbers[0])) / (numbers.at(-1) - numbers[0]);
  const y = (l) => height - inset - ((height - 2 * inset) * (l - low)) / span;
  const at = ([number, l]) => `${x(number).toFixed(1)},${y(l).toFixed(1)}`;
  const tangent = [numbers[0], numbers.at(-1)].map((number) => [number, loss + slope * (number - start)]);
  const dot = svgElement("circle", { r: 6 });
  const root = svgElement(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "prologue-curve", role: "img", "aria-label": say("prologue.curve") },
    svgElement("polyline", { class: "tangent", points: tangent.map(at).join(" ") }),
    svgElement("polyline", { class: "curve", points: numbers.map((n, i) => at([n, losses[i]])).join(" ") }),
    dot,
  );
  const markAt = (number, l) => {
    dot.setAttribute("cx", x(number));
    dot.setAttribute("cy", y(l));
  };
  return { root, markAt };
}
