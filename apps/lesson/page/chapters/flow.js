// The model as a flow, from the tokens to the loss and back: each station with a small map of its numbers
// and one of its gradient, and a link to its step.
import { element } from "../../../report/page/dom.js";
import { formula } from "../../../report/page/formula.js";
import { shortNumber } from "../ops/numbers.js";
import { smallMap } from "../matrix/small_map.js";
import { say } from "../texts/say.js";

const longestOfStation = 54;
const widestArrow = 9;

// By column: the stations, each the first of these matrices that the layer has: [step, matrix].
const columns = [
  [[["norm", "X_in"], ["residual", "X_in"], ["residual", "X"], ["embedding", "X_in"], ["embedding", "A"]]],
  [[["norm", "X"]]],
  [
    [["query_rotation", "Q"], ["query", "Q"]],
    [["key_rotation", "K"], ["key", "K"], ["key", "K_g"]],
    [["value", "V"], ["value", "V_g"]],
  ],
  [[["scores", "Z"]]],
  [[["softmax", "P"]]],
  [[["sum", "O"]]],
  [[["output", "Y"]]],
  [[["residual", "R"]]],
  [[["down", "F"]]],
  [[["second_residual", "X_out"], ["second_norm_after", "X_out"]]],
  [[["logits", "logits"]]],
];

export function flowOf(app) {
  const { lesson } = app;
  const stations = flowStations(lesson);
  if (stations.length < 3) return null;
  const norms = stations.map((column) => Math.hypot(...column.map(({ backward }) => backward?.norm ?? 0)));
  const largest = Math.max(...norms);
  const line = element(
    "ol",
    { class: "flow-line" },
    stations.map((column, at) => columnOf(app, column, at, norms[at] / (largest || 1))),
    lossStation(lesson, stations.length),
  );
  line.style.setProperty("--last", String(stations.length));
  const play = () => {
    line.classList.remove("playing");
    line.getBoundingClientRect(); // so that it begins anew
    line.classList.add("playing");
  };
  return element(
    "section",
    { class: "flow", "aria-label": say("flow.title") },
    element("button", { type: "button", class: "play", text: `▶ ${say("flow.play")}`, on: { click: play } }),
    element("p", { class: "flow-legend" }, [
      element("span", { class: "way forward", text: say("flow.forward") }),
      element("span", { class: "way backward", text: say("flow.backward") }),
    ]),
    line,
  );
}

// By column: [{step, forward, backward}]
export function flowStations(lesson) {
  return columns
    .map((column) => column.map((places) => stationOf(lesson, places)).filter(Boolean))
    .filter((column) => column.length > 0);
}

export function stationOf(lesson, places) {
  for (const [id, key] of places) {
    const step = lesson.chapters.steps.find((each) => each.id === id);
    const pair = step && lesson.matrices(step).find(({ forward }) => forward?.key === key);
    if (pair) return { step, ...pair };
  }
  return null;
}

function columnOf(app, stations, at, share) {
  const item = element(
    "li",
    {},
    element("div", { class: "stations" }, stations.map((station) => stationLink(app, station))),
    arrowsOf(share),
  );
  item.style.setProperty("--at", String(at));
  return item;
}

function stationLink(app, { step, forward, backward }) {
  return element(
    "a",
    { class: "station", href: app.addressOf({ step: step.id, cell: null }) },
    element("span", { class: "symbol" }, formula(forward.symbol)),
    mapOf(app, forward, "forward"),
    backward ? mapOf(app, backward, "backward") : null,
  );
}

function mapOf({ colours }, matrix, way) {
  const { rows, columns: width } = matrix.grid;
  const numbers = Float64Array.from({ length: rows * width }, (_, i) =>
    matrix.number(Math.floor(i / width), i % width),
  );
  const map = smallMap(numbers, rows, width, { colours, hue: matrix.hue, longest: longestOfStation });
  map.classList.add(way);
  return map;
}

// To the next column, and back: as thick as the gradient is large.
function arrowsOf(share) {
  const back = element("i", { class: "arrow backward" });
  back.style.height = `${Math.max(1, Math.round(widestArrow * share))}px`;
  return element("div", { class: "arrows", "aria-hidden": "true" }, element("i", { class: "arrow forward" }), back);
}

function lossStation(lesson, at) {
  const item = element(
    "li",
    { class: "loss" },
    element("span", { class: "symbol" }, formula("ℓ")),
    element("output", { text: shortNumber(lesson.tape.loss()) }),
  );
  item.style.setProperty("--at", String(at));
  return item;
}
