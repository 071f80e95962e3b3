// The same example at the steps of training that were kept: what each head looked at, how evenly,
// the loss, and how large the gradient of each part of the model was.
import { buttonElement, sliderElement, tableElement } from "../frame/elements.js";
import { element, svgElement } from "../../../report/page/dom.js";
import { rowOfTiles, tileElement } from "./glance.js";
import { shortNumber } from "../ops/numbers.js";
import { paintSmallMap, smallMap } from "../matrix/small_map.js";
import { say } from "../texts/say.js";
import { meanEntropy, ofHead } from "../lesson/training.js";

const frameMs = 500; // of the film
const lineSize = { width: 300, height: 30, inset: 3 };

export const trainingChapter = {
  id: "training",
  questions: [{ key: "training.first_to_fall", holds: ({ training }) => training.steps.length > 2 }],
  step: ({ document }) => (document.history?.length > 1 ? {} : null),
  view(app) {
    const { training, state } = app.lesson;
    const { steps } = training;
    const wanted = steps.indexOf(Number(state.at ?? NaN));
    const at = wanted < 0 ? steps.length - 1 : wanted;
    const views = [...mapRows(app), seriesTable(training)];
    const said = element("output", { for: "training-step" });
    const slider = sliderElement(say("training.step"), steps.length, at, { id: "training-step" });
    const show = (i) => {
      said.textContent = say("training.at", { step: steps[i], last: steps.at(-1) });
      slider.setAttribute("aria-valuetext", said.textContent);
      for (const view of views) view.show(i);
    };
    slider.addEventListener("input", () => show(slider.valueAsNumber));
    slider.addEventListener("change", () => app.go({ at: String(steps[slider.valueAsNumber]) }, { replace: true }));
    show(at);
    const play = (i) => {
      if (!slider.isConnected) return;
      slider.value = String(i);
      show(i);
      if (i + 1 < steps.length) setTimeout(() => play(i + 1), frameMs);
    };
    return element(
      "div",
      { class: "training" },
      element(
        "div",
        { class: "training-slider" },
        buttonElement(`▶ ${say("training.play")}`, () => play(0)),
        slider,
        said,
      ),
      views.map(({ root }) => root),
    );
  },
};

// Shares, 0 to 1: one scale for all steps.
const look = (app) => ({ colours: app.colours, hue: "share", largest: 1 });

function mapRows(app) {
  return Object.entries(app.lesson.training.layers).map(([path, layer]) => {
    const heads = Array.from({ length: layer.shape[0] }, (_, head) => headTile(app, layer, head));
    return { root: rowOfTiles(path, heads.map(({ root }) => root)), show: (i) => heads.forEach((tile) => tile.show(i)) };
  });
}

function headTile(app, { shape, shares }, head) {
  const [, rows, columns] = shape;
  const map = smallMap(ofHead(shares[0], shape, head), rows, columns, look(app));
  const facts = element("span", { class: "facts" });
  const root = tileElement(head, [map, facts]);
  const show = (i) => {
    const data = ofHead(shares[i], shape, head);
    paintSmallMap(map, data, look(app));
    facts.textContent = `${say("page.entropy")} ${shortNumber(meanEntropy(data, rows))}`;
  };
  return { root, show };
}

function seriesTable({ steps, series }) {
  const lines = series.map((each) => seriesLine(steps, each));
  const heads = ["quantity", "now", "over", "range"].map((name) => say(`training.${name}`));
  const root = tableElement("series", heads, lines.map((line) => line.root));
  return { root, show: (i) => lines.forEach((line) => line.show(i)) };
}

function seriesLine(steps, { kind, name, head, numbers }) {
  const curve = sparkline(steps, numbers, { isLogarithmic: kind !== "entropy" });
  const now = element("td", { class: "now" });
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const root = element(
    "tr",
    {},
    element("th", { scope: "row", text: say(`training.${kind}`, { name, head }) }),
    now,
    element("td", {}, curve.root),
    element("td", { class: "range", text: `${shortNumber(low)} … ${shortNumber(high)}` }),
  );
  const show = (i) => {
    now.textContent = shortNumber(numbers[i]);
    curve.markAt(i);
  };
  return { root, show };
}

// A line of numbers over the steps of training, with a mark at one of them.
// Where numbers[i] at steps[i] stands. Sizes over several powers of ten go by their logarithm.
function placesOf(steps, numbers, isLogarithmic) {
  const level = isLogarithmic ? Math.log : (x) => x;
  const levels = numbers.map((x) => (Number.isFinite(level(x)) ? level(x) : null));
  const known = levels.filter((x) => x !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const span = steps.at(-1) - steps[0] || 1;
  const { width, height, inset } = lineSize;
  return levels.map((x, i) => ({
    x: inset + ((width - 2 * inset) * (steps[i] - steps[0])) / span,
    y: x === null ? null : height - inset - ((height - 2 * inset) * (x - low)) / (high - low || 1),
  }));
}

// {root, markAt(i)}
export function sparkline(steps, numbers, { isLogarithmic }) {
  const places = placesOf(steps, numbers, isLogarithmic);
  const points = places
    .filter(({ y }) => y !== null)
    .map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`);
  const line = svgElement("line", { y1: 0, y2: lineSize.height, class: "at" });
  const dot = svgElement("circle", { r: 3 });
  const root = svgElement(
    "svg",
    { viewBox: `0 0 ${lineSize.width} ${lineSize.height}`, class: "sparkline", "aria-hidden": "true" },
    svgElement("polyline", { points: points.join(" ") }),
    line,
    dot,
  );
  const markAt = (i) => {
    const { x, y } = places[i];
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    dot.setAttribute("visibility", y === null ? "hidden" : "visible");
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", y ?? 0);
  };
  return { root, markAt };
}
