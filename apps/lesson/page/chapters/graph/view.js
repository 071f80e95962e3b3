// The ops as they were recorded, drawn: those of the layer that is open, with what leads into it and out of it on the
// residual stream.
import { element } from "../../../../report/page/dom.js";
import { isAccumulation } from "../../tape/layers.js";
import { graphOfOps } from "./drawn_graph.js";
import { drawnRows } from "./rows.js";
import { say } from "../../texts/say.js";

export const graphChapter = {
  id: "graph",
  questions: [{ key: "graph.where_added" }],
  view(app) {
    const { ops } = app.lesson.tape.program;
    const backward = ops.filter((op) => op.backward);
    const counts = {
      forward: ops.length - backward.length,
      backward: backward.length,
      additions: backward.filter(isAccumulation).length,
    };
    return element(
      "div",
      { class: "graph" },
      element("p", { text: say("graph.counts", counts) }),
      legend(),
      layerDrawing(app),
    );
  },
};

function legend() {
  const items = ["forward", "backward", "kept", "sum"].map((name) => {
    const sign = element("i", { "aria-hidden": "true" });
    return element("li", { class: name }, sign, say(`graph.legend_${name}`));
  });
  return element("ul", { class: "graph-legend" }, items);
}

function layerDrawing(app) {
  const { lesson } = app;
  const { program } = lesson.tape;
  const known = {
    isShown: (value) => lesson.locate(value, 0) !== null,
    gradientOf: (value) => program.facts[value].gradient ?? lesson.anatomy.gradient(value),
  };
  const graph = graphOfOps(program, opsOfLayer(lesson, program), known);
  return element("div", { class: "drawn-layer" }, drawnRows(app, graph, say("graph.drawn", { layer: lesson.state.layer })));
}

// Those of its scope, the norm, and the sum with the residual stream.
function opsOfLayer({ layer }, program) {
  const { path, norm, output } = layer;
  const sums = program.readers[output]?.filter(({ op }) => op === "add") ?? [];
  const around = new Set([program.makers[norm], ...sums].map((op) => op?.id));
  const isWithin = ({ scope }) => `${scope}.`.startsWith(`${path}.`);
  return program.inOrder
    .filter((op) => !op.backward && (isWithin(op) || around.has(op.id)));
}
