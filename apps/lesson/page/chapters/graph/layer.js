// The layer that is open as a drawing, from the tape: its ops with those that lead into it and out
// of it on the residual stream.
import { graphOfOps } from "./drawn_graph.js";
import { element } from "../../../../report/page/dom.js";
import { opBox, valueBox } from "./boxes.js";
import { drawing } from "./drawing.js";
import { say } from "../../texts/say.js";

export function layerDrawing(app) {
  const { lesson } = app;
  const { program } = lesson.tape;
  const known = {
    isShown: (value) => lesson.locate(value, 0) !== null,
    gradientOf: (value) => program.facts[value].gradient ?? lesson.anatomy.gradient(value),
  };
  const { nodes, edges } = graphOfOps(program, opsOfLayer(lesson, program), known);
  const passesOn = ({ id }) => edges.some(({ to, goesBack }) => to === id && goesBack);
  const boxes = nodes.map((node) =>
    node.op ? opBox(app, node, passesOn(node)) : valueBox(app, node),
  );
  const label = say("graph.drawn", { layer: lesson.state.layer });
  const scale = app.isPresenting ? 1.25 : 1;
  return element(
    "div",
    { class: "drawn-layer" },
    drawing({ id: "layer", boxes, edges, label, scale }),
  );
}

// Those of its scope, the norm, and the sum with the residual stream.
function opsOfLayer({ layer }, program) {
  const { path, norm, output } = layer;
  const sums = program.readers[output]?.filter(({ op }) => op === "add") ?? [];
  const around = new Set([program.makers[norm], ...sums].map((op) => op?.id));
  const isWithin = ({ scope }) => `${scope}.`.startsWith(`${path}.`);
  return program.order
    .map((id) => program.ops[id])
    .filter((op) => !op.backward && (isWithin(op) || around.has(op.id)));
}

export function graphLegend() {
  const items = ["forward", "backward", "kept", "sum"].map((name) => {
    const sign = element("i", { "aria-hidden": "true" });
    return element("li", { class: name }, sign, say(`graph.legend_${name}`));
  });
  return element("ul", { class: "graph-legend" }, items);
}
