// At a glance: each head of each layer as two small maps, P and its gradient.
import { colourBytes } from "./colours.js";
import { element } from "./dom.js";
import { shortNumber } from "./numbers.js";
import { pictureOf } from "./picture.js";
import { say } from "./texts.js";
import { tokenText } from "./sequences.js";

const mapSize = 92;

export function glanceView(app) {
  const { lesson } = app;
  return element(
    "div",
    { class: "glance" },
    pictureOf(app),
    textOf(app),
    lesson.layers.map((path) => layerRow(app, path)),
  );
}

// What goes in, and what should come out.
function textOf({ lesson }) {
  const { texts = {} } = lesson.document.meta;
  const names = ["tokens", "source", "target", "targets"].filter((name) => texts[name]);
  return element(
    "dl",
    { class: "texts" },
    names.flatMap((name) => [
      element("dt", { text: say(`text_${name}`) }),
      element(
        "dd",
        {},
        texts[name].map((text) => element("kbd", { text: tokenText(text) })),
      ),
    ]),
  );
}

function layerRow(app, path) {
  const { anatomy, state } = app.lesson;
  const weights = anatomy.at(`${path}.weights`);
  const [, heads] = anatomy.shape(weights);
  const tiles = Array.from({ length: heads }, (_, head) => tile(app, { path, weights, head }));
  return element(
    "section",
    { class: "layer-row", "aria-label": path },
    element("h3", { text: path, class: path === state.layer ? "focus" : null }),
    element("div", { class: "tiles" }, tiles),
  );
}

function tile(app, { path, weights, head }) {
  const { lesson, colours } = app;
  const { tape, anatomy } = lesson;
  const [, , rows, columns] = anatomy.shape(weights);
  const from = head * rows * columns;
  const shares = tape.values[weights].data.subarray(from, from + rows * columns);
  const gradient = anatomy.gradient(weights);
  const back =
    gradient === undefined
      ? null
      : tape.values[gradient].data.subarray(from, from + rows * columns);
  const facts = [`H ${shortNumber(meanEntropy(shares, rows, columns))}`];
  if (back) facts.push(`‖dP‖ ${shortNumber(normOf(back))}`);
  return element(
    "a",
    {
      class: "tile",
      href: app.addressOf({ layer: path, head, step: "softmax", cell: null }),
    },
    element("span", { class: "unseen", text: path }),
    element("span", { class: "tile-name", text: `${say("head")} ${head}` }),
    element(
      "span",
      { class: "pair-of-maps" },
      smallMap(shares, rows, columns, colours, "share"),
      back ? smallMap(back, rows, columns, colours, "signed") : null,
    ),
    element("span", { class: "facts", text: facts.join("  ") }),
  );
}

function smallMap(data, rows, columns, colours, hue) {
  const canvas = element("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const size = data.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  const write = colourBytes(colours, hue, size);
  const image = new ImageData(columns, rows);
  data.forEach((x, i) => write(x, image.data, 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
  const longest = Math.max(rows, columns);
  canvas.style.width = `${(mapSize * columns) / longest}px`;
  canvas.style.height = `${(mapSize * rows) / longest}px`;
  return canvas;
}

// -Σ p ln p, over the rows
function meanEntropy(shares, rows, columns) {
  let sum = 0;
  for (const p of shares) if (p > 0) sum -= p * Math.log(p);
  return sum / rows;
}

function normOf(data) {
  return Math.sqrt(data.reduce((sum, x) => sum + x * x, 0));
}
