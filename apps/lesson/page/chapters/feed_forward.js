// The feed-forward layer: up, an activation, down.
import { shareThrough } from "./ledgers.js";
import { ofQuantity, partsOfLinear, sequencePart } from "./parts.js";

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

function linearStep({ anatomy, queries }, { value, source, letter, symbol, family = "f" }) {
  const linear = value === undefined ? null : anatomy.linearBehind(value);
  if (!linear) return null;
  const top = partsOfLinear(linear, `_${letter}`);
  const { scope } = anatomy.maker(value);
  const way = { scope, path: letter, symbol: source, x: linear.x, rowNames: queries };
  const share = shareThrough(anatomy, way); // where a residual reads the same x
  const left = sequencePart(source, linear.x, queries, family);
  return {
    layout: {
      kind: "product",
      left: share ? { ...left, gradientPart: share } : left,
      top,
      result: sequencePart(symbol, value, queries, family),
    },
    forward: [`${symbol} = ${source} W_${letter}${top.length > 1 ? ` + b_${letter}` : ""}`],
    backward: [
      `dW_${letter} = ${source}^T d${symbol}`,
      ...(top.length > 1 ? [`db_${letter} = colsum(d${symbol})`] : []),
      `${share?.symbol ?? `d${source}`} = d${symbol} W_${letter}^T`,
    ],
  };
}
