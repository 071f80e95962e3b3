// At a glance: each head of each layer as two small maps, P and its gradient.
import { selectElement } from "../frame/elements.js";
import { flowOf } from "./flow.js";
import { element } from "../../../report/page/dom.js";
import { shortNumber } from "../ops/numbers.js";
import { layerName } from "../lesson/layer_name.js";
import { pictureOf } from "./picture.js";
import { withTerms } from "../frame/terms.js";
import { canHavePrompt, promptOf, textsNow } from "../lesson/prompt.js";
import { tokenText } from "../lesson/sequences.js";
import { smallMap } from "../matrix/small_map.js";
import { say } from "../texts/say.js";
import { meanEntropy, ofHead } from "../lesson/training.js";

export const glanceChapter = {
  id: "glance",
  questions: [{ key: "glance.evenness", holds: ({ heads, shownLayers }) => heads > 1 || shownLayers.length > 1 }],
  view(app) {
    const { lesson } = app;
    return element(
      "div",
      { class: "glance" },
      pictureOf(app),
      textOf(app),
      flowOf(app),
      partNote(lesson),
      element("p", { class: "glance-legend" }, withTerms(app, say("glance.legend"))),
      lesson.shownLayers.map((path) => layerRow(app, path, largestShare(lesson))),
    );
  },
};

function partNote({ document }) {
  const { part } = document.meta;
  return part ? element("p", { class: "part-note", text: say("glance.part", { part: layerName(part) }) }) : null;
}

// What goes in, and what should come out.
function textOf(app) {
  const { lesson } = app;
  const texts = textsNow(lesson);
  const names = ["tokens", "source", "target", "targets"].filter((name) => texts[name]);
  return element(
    "dl",
    { class: "texts" },
    names.flatMap((name) => [
      element("dt", { text: say(`sequence.${name}`) }),
      element(
        "dd",
        {},
        texts[name].map((text, i) =>
          name === "tokens" && canHavePrompt(lesson) ? tokenSelect(app, i) : element("kbd", { text: tokenText(text) }),
        ),
      ),
    ]),
  );
}

// Another token in its place: every number follows.
function tokenSelect(app, at) {
  const { lesson } = app;
  const { vocabulary, texts } = lesson.document.meta;
  const now = promptOf(lesson) ?? texts.tokens.map((text) => vocabulary.indexOf(text));
  const options = vocabulary.map((text, token) => [token, tokenText(text)]);
  const change = (token) => app.go({ prompt: now.with(at, Number(token)).join("."), form: null }, { replace: true });
  return selectElement(options, now[at], change, { class: "token", "aria-label": say("tokens.of_prompt", { at }) });
}

// Of all heads: an even one must not look like a sharp one.
function largestShare({ anatomy, tape, shownLayers }) {
  const weights = shownLayers.map((path) => tape.values[anatomy.at(`${path}.weights`)].data);
  return Math.max(...weights.map((data) => data.reduce((most, x) => Math.max(most, x), 0)));
}

function layerRow(app, path, largest) {
  const { anatomy, state } = app.lesson;
  const weights = anatomy.at(`${path}.weights`);
  const [, heads] = anatomy.shape(weights);
  const tiles = Array.from({ length: heads }, (_, head) => tile(app, { path, weights, head, largest }));
  return rowOfTiles(path, tiles, { class: path === state.layer ? "focus" : null });
}

export const rowOfTiles = (path, tiles, looks = {}) =>
  element(
    "section",
    { class: "layer-row", "aria-label": layerName(path) },
    element("h3", { text: layerName(path), ...looks }),
    element("div", { class: "tiles" }, tiles),
  );

// What is shown of a head; with an address, a link, which says of what layer.
export const tileElement = (head, children, { href = null, path = "" } = {}) =>
  element(
    href ? "a" : "div",
    { class: "tile", href },
    path ? element("span", { class: "unseen", text: layerName(path) }) : null,
    element("span", { class: "tile-name", text: `${say("head.title")} ${head}` }),
    children,
  );

function tile(app, { path, weights, head, largest }) {
  const { lesson, colours } = app;
  const { tape, anatomy } = lesson;
  const [, ...shape] = anatomy.shape(weights);
  const [, rows, columns] = shape;
  const shares = ofHead(tape.values[weights].data, shape, head);
  const gradient = anatomy.gradient(weights);
  const back = gradient === undefined ? null : ofHead(tape.values[gradient].data, shape, head);
  const facts = [`${say("page.entropy")} ${shortNumber(meanEntropy(shares, rows))}`];
  if (back) facts.push(`‖dP‖ ${shortNumber(normOf(back))}`);
  const isExplained = lesson.layers.includes(path);
  const href = isExplained ? app.addressOf({ layer: path, head, step: "softmax", cell: null }) : null;
  const maps = element(
    "span",
    { class: "pair-of-maps" },
    smallMap(shares, rows, columns, { colours, hue: "share", largest }),
    back ? smallMap(back.map((x) => -x), rows, columns, { colours, hue: "signed" }) : null,
  );
  return tileElement(head, [maps, element("span", { class: "facts", text: facts.join("  ") })], { href, path });
}

function normOf(data) {
  return Math.sqrt(data.reduce((sum, x) => sum + x * x, 0));
}
