// The feed-forward layer: up, an activation, down.
import { shareThrough } from "./ledgers.js";
import { linearShown, ofQuantity, partsOfLinear, sequencePart } from "./parts.js";

export const upChapter = {
  id: "up",
  questions: [{ key: "up.other_tokens" }],
  step: (facts) =>
    linearStep(facts, {
      value: facts.layer.up,
      source: facts.layer.norm === undefined ? "R" : "N",
      letter: "1",
      symbol: "U",
    }),
};

const flatBelow = ["relu", "gelu", "silu"];

export const activationChapter = {
  id: "activation",
  hasExercises: true,
  questions: [
    { key: "activation.little_gradient", holds: ({ anatomy, layer }) => flatBelow.includes(anatomy.maker(layer.hidden)?.op) },
  ],
  step({ anatomy, layer, queries }) {
    const { up, hidden } = layer;
    const activation = hidden === undefined ? null : anatomy.maker(hidden);
    if (up === undefined || activation?.inputs.length !== 1) return null;
    return {
      layout: {
        kind: "stack",
        parts: ofQuantity("activation", [
          sequencePart("U", up, queries, "f"),
          sequencePart("G", hidden, queries, "f"),
        ]),
      },
      forward: [`G = ${activation.op}(U)`],
      backward: [`dU = dG ∘ ${activation.op}'(U)`],
    };
  },
};

export const downChapter = {
  id: "down",
  questions: [{ key: "down.which_features" }],
  step: (facts) =>
    linearStep(facts, { value: facts.layer.feedForward, source: "G", letter: "2", symbol: "F" }),
};

function linearStep({ anatomy, queries }, { value, source, letter, symbol }) {
  const linear = value === undefined ? null : anatomy.linearBehind(value);
  if (!linear) return null;
  const { scope } = anatomy.maker(value);
  const way = { scope, path: letter, symbol: source, x: linear.x, rowNames: queries };
  const gradientPart = shareThrough(anatomy, way); // where a residual reads the same x
  const left = { ...sequencePart(source, linear.x, queries, "f"), gradientPart };
  return linearShown(left, partsOfLinear(linear, `_${letter}`), sequencePart(symbol, value, queries, "f"));
}
