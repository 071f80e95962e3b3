// Layer norms and RMS norms: before attention, before the feed-forward layer, before the logits.
import { nameNormParts } from "./norm_names.js";
import { shareThrough } from "./ledgers.js";
import { sequencePart } from "./parts.js";
import { firstGradientIsAtRightAngle, rowsOfFirstGradientSumToZero } from "../lesson/premises.js";

const layerNorm = {
  texts: "layer_norm",
  questions: [{ key: "layer_norm.zero_sums", holds: rowsOfFirstGradientSumToZero }],
};
const rmsNorm = {
  texts: "rms_norm",
  questions: [{ key: "rms_norm.lost", holds: firstGradientIsAtRightAngle }],
};

export const normChapter = {
  id: "norm",
  group: "input",
  texts: "layer_norm",
  step(facts) {
    if (facts.layer.isNormLast) return null;
    return withTextsOfKind(normStepOf(facts, { value: facts.layer.norm, from: "X_{in}", to: "X" }));
  },
};

const withTextsOfKind = (step) => step && { ...step, ...(step.norm.isLayerNorm ? layerNorm : rmsNorm) };

// Of a block whose norms come last: after the residual.
export const normAfterChapter = {
  id: "norm_after",
  group: "output",
  texts: "layer_norm",
  step(facts) {
    if (!facts.layer.isNormLast) return null;
    return withTextsOfKind(normStepOf(facts, { value: facts.layer.norm, from: "R", to: "N" }));
  },
};

export const secondNormAfterChapter = {
  id: "second_norm_after",
  group: "prediction",
  texts: "layer_norm",
  step(facts) {
    if (!facts.layer.isNormLast) return null;
    const value = facts.layer.feedForwardNorm;
    return withTextsOfKind(normStepOf(facts, { value, from: "R_2", to: "X_{out}", letter: "_n" }));
  },
};

export const secondNormChapter = {
  id: "second_norm",
  group: "prediction",
  questions: [
    { key: "second_norm.stretched", holds: ({ step }) => step.norm.isLayerNorm },
    { key: "second_norm.stretched_rms" },
  ],
  step(facts) {
    if (facts.layer.isNormLast) return null;
    const value = facts.layer.feedForwardNorm;
    return normStepOf(facts, { value, from: "R", to: "N", letter: "_n" });
  },
};

export const finalNormChapter = {
  id: "final_norm",
  group: "prediction",
  questions: [{ key: "final_norm.gain" }],
  step(facts) {
    const value = facts.anatomy.at(`${facts.layer.stack}output`);
    if (facts.layer.isNormLast) return null; // it is that of the last block
    return normStepOf(facts, { value, from: "X_{out}", to: "H", letter: "_h" });
  },
};

// x, weight, bias of a layer norm or RMS norm.
function normParts(anatomy, value) {
  const op = anatomy.maker(value);
  if (!op || !/norm$/.test(op.op)) return null;
  const [x, weight, bias] = op.inputs;
  return { op, x, weight, bias, kind: op.op, scope: op.scope, epsilon: op.attributes.epsilon };
}

function normStepOf({ anatomy, queries }, { value, from, to, letter = "" }) {
  const norm = value === undefined ? null : normParts(anatomy, value);
  if (!norm) return null;
  const isLayerNorm = norm.kind === "layer_norm";
  anatomy.adopt(norm.x); // after a sum that nobody named, where norms come last
  nameNormParts(anatomy, norm.op, anatomy.gradient(value));
  const input = sequencePart(from, norm.x, queries);
  const way = { scope: norm.scope, path: "norm", symbol: from, x: norm.x, rowNames: queries };
  const share = shareThrough(anatomy, way);
  const back = share?.symbol ?? `d${from}`;
  const parts = [
    share ? { ...input, gradientPart: share } : input,
    { symbol: `g${letter}`, value: norm.weight, look: "rows", family: "w" },
    norm.bias !== undefined && {
      symbol: `b${letter}`,
      value: norm.bias,
      look: "rows",
      family: "w",
    },
    sequencePart(to, value, queries),
  ].filter(Boolean);
  const g = `g${letter}`;
  const deviation = isLayerNorm ? "sqrt{σ^2 + ε}" : `sqrt{rowmean(${from}^2) + ε}`;
  const mean = isLayerNorm ? ` - rowmean(${g} ∘ d${to})` : "";
  const changes = `${g} ∘ d${to}${mean} - x̂ ∘ rowmean(x̂ ∘ ${g} ∘ d${to})`;
  return {
    norm: { from, to, letter, epsilon: norm.epsilon, isLayerNorm },
    layout: { kind: "stack", parts },
    forward: isLayerNorm
      ? `${to} = ${g} ∘ x̂ + b${letter}, x̂ = frac{${from} - μ}{${deviation}}`
      : `${to} = ${g} ∘ x̂, x̂ = frac{${from}}{${deviation}}`,
    backward: [`${back} = frac{1}{${deviation}} (${changes})`],
  };
}
