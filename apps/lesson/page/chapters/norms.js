// Layer norms and RMS norms: before attention, before the feed-forward layer, before the logits.
import { shareThrough } from "./ledgers.js";
import { outputSymbol, sequencePart } from "./parts.js";
import { firstGradientIsAtRightAngle, rowsOfFirstGradientSumToZero } from "../lesson/premises.js";

// The texts of a norm that stands for itself, by its kind.
const textsOfKind = {
  layer_norm: {
    texts: "layer_norm",
    questions: [{ key: "layer_norm.zero_sums", holds: rowsOfFirstGradientSumToZero }],
  },
  rms_norm: {
    texts: "rms_norm",
    questions: [{ key: "rms_norm.lost", holds: firstGradientIsAtRightAngle }],
  },
};

// `isLast`: of a block whose norms come after its sums.
const chapterOfNorm = (id, { isLast, value: name, from, to = undefined, letter = "" }) => ({
  id,
  texts: "layer_norm",
  step(facts) {
    const value = facts.layer[name];
    const step = facts.layer.isNormLast === isLast ? normStepOf(facts, { value, from, to: to ?? outputSymbol(facts), letter }) : null;
    return step && { ...step, ...textsOfKind[step.norm.kind] };
  },
});

export const normChapter = chapterOfNorm("norm", { isLast: false, value: "norm", from: "X_{in}", to: "X" });
export const normAfterChapter = chapterOfNorm("norm_after", { isLast: true, value: "norm", from: "R", to: "N" });
export const secondNormAfterChapter = chapterOfNorm("second_norm_after", {
  isLast: true,
  value: "feedForwardNorm",
  from: "R_2",
  letter: "_n",
});

export const secondNormChapter = {
  id: "second_norm",
  questions: [{ key: "second_norm.stretched" }],
  step: (facts) =>
    facts.layer.isNormLast
      ? null
      : normStepOf(facts, { value: facts.layer.feedForwardNorm, from: "R", to: "N", letter: "_n" }),
};

export const finalNormChapter = {
  id: "final_norm",
  questions: [{ key: "final_norm.gain" }],
  step(facts) {
    const { anatomy, layer } = facts;
    const value = anatomy.at(`${layer.stack}output`);
    if (layer.isNormLast) return null; // it is that of the last block
    const to = layer.stack === "encoder." ? "X_{enc}" : "H";
    const isOwn = anatomy.maker(value)?.inputs[0] === layer.blockOutput;
    return normStepOf(facts, { value, from: isOwn ? "X_{out}" : "X_{last}", to, letter: "_h" });
  },
};

// x, weight, bias of a layer norm or RMS norm.
function normParts(anatomy, value) {
  const op = anatomy.maker(value);
  if (!op || !/norm$/.test(op.op)) return null;
  const [x, weight, bias] = op.inputs;
  return { op, x, weight, bias, kind: op.op, scope: op.scope, epsilon: op.attributes.epsilon };
}

// The norm of queries or keys, of one head. Several heads share the gain, whose gradient, a sum over them, is not shown.
export function headNormStep(id, before, after, rules, facts) {
  const { anatomy } = facts;
  const isOneHead = anatomy.shape(before.value)[2] === 1;
  const part = (symbol, value) => ({ ...before, symbol, value });
  const norm = { value: after.value, from: before.symbol, to: after.symbol, letter: `_${before.family}`, part };
  const step = normStepOf(facts, norm);
  const [input, gain, output] = step.layout.parts;
  const { backward } = step;
  return {
    ...step,
    id: `${id}_norm`,
    texts: "head_norm",
    said: { symbol: after.symbol },
    hasExercises: false,
    questions: textsOfKind.rms_norm.questions,
    layout: { kind: "stack", parts: [input, { ...gain, noGradient: !isOneHead }, output] },
    backward: [...backward.filter((rule) => isOneHead || !rule.startsWith("dg")), ...rules],
  };
}

function normStepOf({ anatomy, queries }, { value, from, to, letter = "", part = null }) {
  const norm = value === undefined ? null : normParts(anatomy, value);
  if (!norm) return null;
  const isLayerNorm = norm.kind === "layer_norm";
  anatomy.adopt(norm.x); // after a sum that nobody named, where norms come last
  nameNormParts(anatomy, norm.op, anatomy.gradient(value));
  const rows = part ?? ((symbol, shown) => sequencePart(symbol, shown, queries));
  const input = rows(from, norm.x);
  const way = { scope: norm.scope, path: "norm", symbol: from, x: norm.x, rowNames: queries };
  const share = part ? null : shareThrough(anatomy, way);
  const back = share?.symbol ?? `d${from}`;
  const parts = [
    { ...input, gradientPart: share },
    sequencePart(`g${letter}`, norm.weight, null, "w"),
    sequencePart(`b${letter}`, norm.bias, null, "w"),
    rows(to, value),
  ].filter((each) => each.value !== undefined);
  const g = `g${letter}`;
  const deviation = isLayerNorm ? "√(σ^2 + ε)" : `√(rowmean(${from}^2) + ε)`;
  const mean = isLayerNorm ? " - rowmean(dx̂)" : "";
  return {
    norm: { from, kind: norm.kind, epsilon: norm.epsilon },
    layout: { kind: "stack", parts },
    forward: isLayerNorm
      ? [`${to} = ${g} ∘ x̂ + b${letter}`, `x̂ = (${from} - μ) / ${deviation}`]
      : [`${to} = ${g} ∘ x̂`, `x̂ = ${from} / ${deviation}`],
    backward: [
      `dx̂ = ${g} ∘ d${to}`,
      `${back} = (dx̂${mean} - x̂ ∘ rowmean(x̂ ∘ dx̂)) / ${deviation}`,
      `d${g} = colsum(x̂ ∘ d${to})`,
      ...(norm.bias === undefined ? [] : [`db${letter} = colsum(d${to})`]),
    ],
  };
}

// Names for what the backward pass of a layer norm computes on its way: 1/√(σ² + ε), x̂ and the two means.

// norm: the forward op; the gradient of its output is known by `gradient`.
function nameNormParts(anatomy, norm, gradient) {
  const { program } = anatomy;
  const own = program.ops.filter((op) => op.backward_of === norm.id);
  const isFrom = (value, name) => anatomy.maker(value)?.op === name;
  const source = (value) => {
    const op = anatomy.op(value);
    return op && ["reshape", "broadcast_to"].includes(op.op) ? source(op.inputs[0]) : op;
  };
  for (const op of own) {
    if (op.op === "rsqrt") anatomy.call(op.output, "1/√(σ²+ε)");
    if (op.op === "mul") {
      const [a, b] = op.inputs.map(source);
      if (isFrom(op.inputs[0], "sub") && b?.op === "rsqrt" && a.inputs[0] === norm.inputs[0]) {
        anatomy.call(op.output, "x̂");
      }
    }
    if (op.op === "scale") {
      const sum = source(op.inputs[0]);
      const name = sum?.op === "sum" ? nameOfMean(anatomy, sum.inputs[0], norm, gradient) : null;
      if (name) anatomy.call(op.output, name);
    }
  }
}

function nameOfMean(anatomy, summed, norm, gradient) {
  if (summed === norm.inputs[0]) return "μ";
  const op = anatomy.op(summed);
  if (op?.op !== "mul") return null;
  if (op.inputs[0] === op.inputs[1]) return "σ²";
  return op.inputs.includes(gradient) ? "mean(g∘d)" : "mean(x̂∘g∘d)";
}
