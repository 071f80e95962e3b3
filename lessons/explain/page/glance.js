// At a glance: each head of each layer as two small maps, P and its gradient.
import { element } from "./dom.js";
import { shortNumber } from "./numbers.js";
import { pictureOf } from "./picture.js";
import { tokenText } from "./sequences.js";
import { smallMap } from "./small_map.js";
import { say } from "./texts.js";
import { meanEntropy } from "./training.js";

export function glanceView(app) {
  const { lesson } = app;
  return element(
    "div",
    { class: "glance" },
    pictureOf(app),
    textOf(app),
    partNote(lesson),
    lesson.shownLayers.map((path) => layerRow(app, path)),
  );
}

function partNote({ document }) {
  const { part } = document.meta;
  return part ? element("p", { class: "part-note", text: say("part_note", { part }) }) : null;
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
  const facts = [`H ${shortNumber(meanEntropy(shares, rows))}`];
  if (back) facts.push(`‖dP‖ ${shortNumber(normOf(back))}`);
  const isExplained = lesson.layers.includes(path);
  return element(
    isExplained ? "a" : "div",
    {
      class: "tile",
      href: isExplained
        ? app.addressOf({ layer: path, head, step: "softmax", cell: null })
        : null,
    },
    element("span", { class: "unseen", text: path }),
    element("span", { class: "tile-name", text: `${say("head")} ${head}` }),
    element(
      "span",
      { class: "pair-of-maps" },
      smallMap(shares, rows, columns, { colours, hue: "share" }),
      back ? smallMap(back, rows, columns, { colours, hue: "signed" }) : null,
    ),
    element("span", { class: "facts", text: facts.join("  ") }),
  );
}

function normOf(data) {
  return Math.sqrt(data.reduce((sum, x) => sum + x * x, 0));
}
