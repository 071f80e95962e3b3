// The model as a flow, from the tokens to the loss: stations with small maps of their numbers and of their
// gradients, and arcs, read from the tape, from what is read to what is made of it.
import { element, svgElement } from "../../../report/page/dom.js";
import { formula } from "../../../report/page/formula.js";
import { layerName } from "../lesson/layer_name.js";
import { shortNumber } from "../ops/numbers.js";
import { smallMap } from "../matrix/small_map.js";
import { say } from "../texts/say.js";

const longestOfStation = 54;
const widthOfStation = 70; // as in special.css
const arcs = { height: 96, least: 14, each: 9 };

// Each is the first of these matrices that the layer has: [step, matrix].
const stationPlaces = [
  [["norm", "X_in"], ["residual", "X_in"], ["residual", "X"], ["embedding", "X_in"], ["embedding", "A"]],
  [["norm", "X"]],
  [["key", "X_enc"]],
  [["query_rotation", "Q"], ["query_norm", "Q"], ["query", "Q"], ["scores", "Q"]],
  ["key_rotation", "key_norm", "key"].flatMap((step) => [[step, "K"], [step, "K_g"]]).concat([["scores", "Kt"]]),
  [["value", "V"], ["value", "V_g"], ["sum", "V"]],
  [["scores", "Z"]],
  [["softmax", "P"]],
  [["sum", "O"]],
  [["output", "Y"]],
  [["residual", "R"]],
  [["down", "F"]],
  [["second_residual", "X_out"], ["second_norm_after", "X_out"]],
];

export function flowOf(app) {
  const stations = stationsOf(app);
  const line = element(
    "ol",
    { class: "flow-line" },
    element("li", { class: "arcs-of-flow" }, drawnArcs(stations, edgesOf(app.lesson.tape.program, stations))),
    stations.map(({ node }) => element("li", {}, node)),
  );
  return element(
    "section",
    { class: "flow", "aria-label": say("flow.title") },
    element("p", { class: "flow-legend" }, [
      element("span", { class: "way forward", text: say("flow.forward") }),
      element("span", { class: "way backward", text: say("flow.backward") }),
      element("span", { text: say("flow.arcs") }),
    ]),
    line,
    element("p", { class: "flow-names", text: say("flow.names") }),
  );
}

// [{name, values, node}]: those of this layer, the layers after it as one, the logits and the loss.
function stationsOf(app) {
  const { lesson } = app;
  const { anatomy, layer, tape } = lesson;
  const own = stationPlaces.map((each) => shownAt(lesson, each)).filter(Boolean);
  const marked = tape.program.dependents(layer.weights, (op) => !op.backward);
  const later = lesson.layers.filter((path) => path !== layer.path && marked[anatomy.at(`${path}.weights`)]);
  const logits = shownAt(lesson, [["logits", "logits"]]);
  const matrixStation = ({ step, forward, backward }) => ({
    name: forward.key,
    values: [forward.value],
    node: stationLink(app, { step, forward, backward }),
  });
  return [
    ...own.map(matrixStation),
    ...(later.length > 0 ? [laterStation(anatomy, later)] : []),
    ...(logits ? [matrixStation(logits)] : []),
    { name: "ℓ", values: [tape.program.loss], node: lossStation(lesson) },
  ];
}

function shownAt(lesson, all) {
  for (const [id, key] of all) {
    const step = lesson.chapters.steps.find((each) => each.id === id);
    const pair = step && lesson.matrices(step).find(({ forward }) => forward?.key === key);
    if (pair) return { step, ...pair };
  }
  return null;
}

function laterStation(anatomy, paths) {
  const names = [...new Set([paths[0], paths.at(-1)])].map(layerName);
  return {
    name: "later",
    values: paths.map((path) => anatomy.at(path)),
    node: element("span", { class: "station later", text: names.join(" … ") }),
  };
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

function lossStation(lesson) {
  return element(
    "span",
    { class: "station loss" },
    element("span", { class: "symbol" }, formula("ℓ")),
    element("output", { text: shortNumber(lesson.tape.loss()) }),
  );
}

// [[from, to]], by their places: what a station reads, with none between.
function edgesOf(program, stations) {
  const places = new Map(stations.flatMap(({ values }, at) => values.map((value) => [value, at])));
  return stations.flatMap(({ values }, to) => {
    const seen = new Set();
    const sources = (value) =>
      (program.makers[value]?.reads ?? []).flatMap((each) => {
        if (seen.has(each)) return [];
        seen.add(each);
        const from = places.get(each) ?? to;
        return from === to ? sources(each) : [from];
      });
    return [...new Set(values.flatMap(sources))].map((from) => [from, to]);
  });
}

function drawnArcs(stations, edges) {
  const { height, least, each } = arcs;
  const width = widthOfStation * stations.length;
  const x = (i) => widthOfStation * (i + 0.5);
  const paths = edges.map(([from, to]) => {
    const y = height - least - each * Math.abs(to - from);
    const d = `M ${x(from)} ${height} C ${x(from)} ${y}, ${x(to)} ${y}, ${x(to)} ${height}`;
    return svgElement("path", { d, "data-from": stations[from].name, "data-to": stations[to].name });
  });
  return svgElement("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, paths);
}
