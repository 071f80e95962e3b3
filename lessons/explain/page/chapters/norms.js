// Layer norms and RMS norms: before attention, before the feed-forward layer, before the logits.
import { nameNormParts } from "./norm_names.js";
import { shareThrough } from "./ledgers.js";
import { sequencePart } from "./parts.js";
import { firstGradientIsAtRightAngle, rowsOfFirstGradientSumToZero } from "../lesson/premises.js";

const layerNormTexts = {
  name: ["Layer norm", "层归一化"],
  what: [
    "Each row is moved to mean 0 and stretched to variance 1; then gain and shift are learned.",
    "每一行平移到均值 0、缩放到方差 1，再乘上学到的增益、加上偏移。",
  ],
  why: [
    "Whatever the layers before do to sizes, the projections see rows of one size.",
    "无论前面的层如何改变大小，投影看到的行总是同样的尺度。",
  ],
  questions: [
    {
      ask: [
        "Why do the rows of dX_in sum to 0 before the residual is added?",
        "为什么在加上残差之前，dX_in 的每一行之和是 0？",
      ],
      answer: [
        "Shifting a whole row changes nothing after the norm, so the loss cannot depend on it.",
        "整行平移不会改变归一化之后的结果，所以损失与它无关。",
      ],
      holds: rowsOfFirstGradientSumToZero,
    },
  ],
};

export const rmsNormTexts = {
  name: ["RMS norm", "RMS 归一化"],
  what: [
    "Each row is divided by its root mean square, and multiplied by a learned gain.",
    "每一行除以它的均方根，再乘上学到的增益。",
  ],
  why: ["The projections see rows of one size.", "投影看到的行总是同样的尺度。"],
  questions: [
    {
      ask: ["What of a row is lost?", "一行中丢失了什么？"],
      answer: ["Its length: dX_in is at a right angle to X_in.", "它的长度：dX_in 与 X_in 垂直。"],
      holds: firstGradientIsAtRightAngle,
    },
  ],
};

export const normChapter = {
  id: "norm",
  group: "input",
  texts: layerNormTexts,
  step(facts) {
    if (facts.layer.isNormLast) return null;
    return withTextsOfKind(normStepOf(facts, { value: facts.layer.norm, from: "X_{in}", to: "X" }));
  },
};

const withTextsOfKind = (step) => step && { ...step, texts: step.norm.isLayerNorm ? layerNormTexts : rmsNormTexts };

// Of a block whose norms come last: after the residual.
export const normAfterChapter = {
  id: "norm_after",
  group: "output",
  texts: layerNormTexts,
  step(facts) {
    if (!facts.layer.isNormLast) return null;
    return withTextsOfKind(normStepOf(facts, { value: facts.layer.norm, from: "R", to: "N" }));
  },
};

export const secondNormAfterChapter = {
  id: "second_norm_after",
  group: "prediction",
  texts: layerNormTexts,
  step(facts) {
    if (!facts.layer.isNormLast) return null;
    const value = facts.layer.feedForwardNorm;
    return withTextsOfKind(normStepOf(facts, { value, from: "R_2", to: "X_{out}", letter: "_n" }));
  },
};

export const secondNormChapter = {
  id: "second_norm",
  group: "prediction",
  texts: {
    name: ["Second norm", "第二次归一化"],
    what: ["The same norm, before the feed-forward layer.", "前馈层之前同样的归一化。"],
    why: ["Rows of one size again.", "行又是同样的尺度。"],
    questions: [
      {
        ask: ["Which row had to be stretched most?", "哪一行被拉伸得最多？"],
        answer: ["That with the smallest variance.", "方差最小的那一行。"],
        holds: ({ step }) => step.norm.isLayerNorm,
      },
      {
        ask: ["Which row had to be stretched most?", "哪一行被拉伸得最多？"],
        answer: ["That with the smallest mean square.", "均方最小的那一行。"],
      },
    ],
  },
  step(facts) {
    if (facts.layer.isNormLast) return null;
    const value = facts.layer.feedForwardNorm;
    return normStepOf(facts, { value, from: "R", to: "N", letter: "_n" });
  },
};

export const finalNormChapter = {
  id: "final_norm",
  group: "prediction",
  texts: {
    name: ["Final norm", "最后的归一化"],
    what: ["The last norm before the logits.", "logits 之前最后一次归一化。"],
    why: ["Logits should not grow with the depth.", "logits 不应随深度增大。"],
    questions: [
      {
        ask: ["What does its gain g learn?", "它的增益 g 学到什么？"],
        answer: ["How much each feature counts for the answer.", "每个特征对答案的重要程度。"],
      },
    ],
  },
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
