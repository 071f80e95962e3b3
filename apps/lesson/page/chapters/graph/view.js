// The ops as they were recorded: the layer and the model as drawings, and tables of each forward
// op, what it keeps, and beside it the ops by which its derivative was computed. Folded by the
// scopes of the layers.
import { element } from "../../../../report/page/dom.js";
import { isCopy, tellingOps } from "./drawn_graph.js";
import { valueLabel } from "./labels.js";
import { graphLegend, layerDrawing } from "./layer.js";
import { modelDrawing } from "./model.js";
import { say } from "../../texts/say.js";

export const graphChapter = {
  id: "graph",
  group: "more",
  questions: [{ key: "graph.where_added" }],
  view: graphView,
};

function graphView(app) {
  const { lesson } = app;
  const { program } = lesson.tape;
  const inOrder = program.order.map((id) => program.ops[id]);
  const forward = inOrder.filter((op) => !op.backward);
  const helpers = new Map(forward.map(({ id }) => [id, []]));
  for (const op of inOrder) {
    if (op.backward && helpers.has(op.backward_of)) helpers.get(op.backward_of).push(op);
  }
  const additions = inOrder.filter(
    (op) => op.backward && op.op === "add" && !helpers.has(op.backward_of),
  );
  const groups = groupsOf(forward);
  return element(
    "div",
    { class: "graph" },
    element("p", {
      text: say("graph.counts", {
        forward: forward.length,
        backward: inOrder.length - forward.length,
        additions: additions.length,
      }),
    }),
    graphLegend(),
    element("div", { class: "drawings" }, layerDrawing(app), modelDrawing(app)),
    groups.map((group) => groupView(app, group, { helpers, additions })),
  );
}

// Neighbours of one layer together: "blocks.0.attention" of "blocks.0.attention.query".
function groupsOf(ops) {
  const groups = [];
  for (const op of ops) {
    const name = scopeOfLayer(op.scope ?? "");
    const last = groups[groups.length - 1];
    if (last?.name === name) last.ops.push(op);
    else groups.push({ name, ops: [op] });
  }
  return groups;
}

function scopeOfLayer(scope) {
  const match = /^(.*?blocks\.\d+\.[a-z_]+)/.exec(scope);
  return match ? match[1] : /^(.*?blocks\.\d+|[^.]*)/.exec(scope)[1];
}

function groupView(app, { name, ops }, { helpers, additions }) {
  const { lesson } = app;
  const own = additions.filter((op) => scopeOfLayer(op.scope ?? "") === name);
  return element(
    "details",
    { open: name === lesson.state.layer },
    element(
      "summary",
      {},
      element("code", { text: name || say("graph.outside") }),
      element("span", { class: "count", text: ` ${say("graph.ops_count", { count: ops.length })}` }),
    ),
    element(
      "table",
      { class: "ops" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          ["op", "reads", "makes", "keeps", "backward_ops"].map((key) =>
            element("th", { scope: "col", text: say(`graph.${key}`) }),
          ),
        ),
      ),
      element(
        "tbody",
        {},
        ops.map((op) => opRow(app, op, helpers.get(op.id))),
      ),
    ),
    own.length > 0 ? additionList(app, own) : null,
  );
}

function opRow(app, op, backward) {
  const { lesson } = app;
  const factor = op.attributes.factor ?? op.attributes.value;
  const isNumber = typeof factor === "number";
  const title = isNumber ? ` ${Number(factor.toPrecision(4))}` : "";
  return element(
    "tr",
    { class: isCopy(op) ? "copies" : null },
    element("th", { scope: "row" }, element("code", { text: `${op.op}${title}` })),
    element(
      "td",
      {},
      op.inputs.map((value) => valueLink(app, value)),
    ),
    element("td", {}, valueLink(app, op.output), shapeText(lesson, op.output)),
    element("td", { text: (op.kept ?? []).join(", ") }),
    element("td", {}, backwardText(app, backward)),
  );
}

function shapeText({ tape }, value) {
  const { shape } = tape.facts[value];
  return element("span", { class: "shape", text: ` [${shape.join(" × ")}]` });
}

// Copies say nothing; the others in their order.
function backwardText(app, ops) {
  const shown = tellingOps(ops);
  if (shown.length === 0) return [element("span", { class: "none", text: "–" })];
  return shown.flatMap((op, i) => [
    i > 0 ? " · " : "",
    element("code", { title: app.lesson.tape.name(op.output), text: op.op }),
  ]);
}

function valueLink(app, value) {
  const { symbol, href } = valueLabel(app, value);
  const text = symbol.replace(/[{}]/g, "");
  return element(href ? "a" : "span", { class: "value-name", href, text });
}

function additionList(app, additions) {
  return element(
    "p",
    { class: "additions" },
    `${say("graph.added_up")} `,
    additions.map((op) =>
      element(
        "span",
        { class: "addition" },
        valueLink(app, op.output),
        " = ",
        valueLink(app, op.inputs[0]),
        " + ",
        valueLink(app, op.inputs[1]),
      ),
    ),
  );
}
