// The chapters of one layer, in the order of the forward pass.
import { sequenceNames, vocabularyNames } from "./sequences.js";
import { attentionSteps } from "./steps_attention.js";
import { stepsAfterLayer, stepsBeforeLayer } from "./steps_around.js";

export function stepsOf(document, anatomy, layerPath, order) {
  const layer = anatomy.layer(layerPath);
  const [, , rows, columns] = anatomy.shape(layer.weights);
  const queries = sequenceNames(document, anatomy, { stack: layer.stack, rows, order });
  const source = { stack: "encoder.", rows: columns };
  const keys = layer.isCross ? sequenceNames(document, anatomy, source) : queries;
  const facts = {
    anatomy,
    layer,
    queries,
    keys,
    heads: anatomy.shape(layer.weights)[1],
    document: { vocabulary: vocabularyNames(document) },
  };
  const steps = [
    { id: "glance", group: "overview", kind: "glance" },
    ...stepsBeforeLayer(facts),
    ...attentionSteps(facts),
    ...stepsAfterLayer(facts),
    { id: "graph", group: "more", kind: "graph" },
    ...(document.history?.length > 1 ? [{ id: "training", group: "more", kind: "training" }] : []),
    { id: "exercises", group: "more", kind: "exercises" },
  ];
  return { layer, steps, heads: facts.heads, queries, keys };
}

export function partsOf(step) {
  const { layout } = step;
  if (!layout) return [];
  return layout.kind === "product" ? [layout.left, ...layout.top, layout.result] : layout.parts;
}
