// The scores of one head: the product, its scale, a bias of positions, the mask.
import { geometryOf } from "./geometry.js";
import { partsOfScores } from "./parts.js";
import { rulesOf } from "../tape/settings.js";
import {
  hiddenCellsStopAtSoftmax,
  isMultiple,
  isOneByDistance,
  isRowZero,
} from "../lesson/premises.js";
import { keysSeen } from "../lesson/reasons.js";

export const scoresChapter = {
  id: "scores",
  group: "weights",
  hasExercises: true,
  texts: {
    name: ["Scores: Q Kᵀ", "得分：Q Kᵀ"],
    what: [
      "Row i times column j: how much query i and key j point the same way.",
      "第 i 行乘第 j 列：查询 i 与键 j 的内积，即相似度。",
    ],
    why: [
      "The inner product is large where two vectors agree: that is what is attended to.",
      "内积大说明两个向量相关度高，就应当给予更多关注。",
    ],
    questions: [
      {
        ask: ["Why is row 0 of dQ zero?", "为什么 dQ 的第 0 行是零？"],
        answer: [
          "The first query sees one key only: its share is 1, whatever the score.",
          "第一个查询只看得见一个键：无论得分多少，它的份额都是 1。",
        ],
        holds: (lesson) => keysSeen(lesson, 0) === 1 && isRowZero(lesson, "dQ", 0),
      },
      {
        ask: ["What does a score give back to its query?", "一个得分把什么传回给它的查询？"],
        answer: ["The key, times dZ: row i of dQ is Σ_j dZ_ij k_j.", "键乘以 dZ：dQ 的第 i 行是 Σ_j dZ_ij k_j。"],
      },
    ],
  },
  step: scoresStep,
};

function scoresStep(facts) {
  const { layer, queries, keys } = facts;
  const { raw } = partsOfScores(facts);
  return {
    drawing: geometryOf,
    layout: {
      kind: "product",
      left: { symbol: "Q", value: layer.q, look: "head", family: "q", rowNames: queries },
      top: [{ symbol: "K^T", value: layer.k, look: "headTurned", family: "k", columnNames: keys }],
      result: raw,
    },
    forward: "Z = Q K^T",
    backward: ["dQ = dZ K", "dK = dZ^T Q"],
  };
}

export const scaleChapter = {
  id: "scale",
  group: "weights",
  hasExercises: true,
  texts: {
    name: ["Scale by 1/√d_k", "除以 √d_k"],
    what: [
      "Every score is divided by the root of the width of a head.",
      "每个得分除以头的宽度的平方根。",
    ],
    why: [
      "A sum of d_k products of variance 1 has variance d_k; divided, it is 1 again.",
      "d_k 个方差为 1 的乘积之和方差为 d_k；除以 √d_k 后又变为 1，softmax 不会太陡。",
    ],
    questions: [
      {
        ask: ["What happens to the gradient?", "梯度会怎样？"],
        answer: ["It is divided by √d_k, too.", "它也要除以 √d_k。"],
        holds: isScaleGradient,
      },
    ],
  },
  step: scaleStep,
};

function isScaleGradient(lesson) {
  const [before, after] = lesson.step.layout.parts;
  const width = lesson.anatomy.shape(lesson.layer.q)[3];
  return isMultiple(lesson, `d${after.symbol}`, Math.sqrt(width), `d${before.symbol}`);
}

function scaleStep(facts) {
  const { layer } = facts;
  const { raw, scaled, scores } = partsOfScores(facts);
  if (layer.scaled === layer.raw) return null;
  const after = layer.positionBias === undefined ? scores : scaled;
  return {
    layout: { kind: "stack", parts: [raw, after] },
    forward: `${after.symbol} = frac{Z}{sqrt{d_k}}`,
    backward: [`dZ = frac{d${after.symbol}}{sqrt{d_k}}`],
  };
}

export const positionBiasChapter = {
  id: "position_bias",
  group: "weights",
  texts: {
    name: ["Position bias", "位置偏置"],
    what: [
      "A number that depends only on the distance is added to each score.",
      "每个得分加上一个只取决于距离的数。",
    ],
    why: [
      "So scores know how far a key is, without a position in X.",
      "这样得分知道键有多远，而不需要在 X 里加位置。",
    ],
    questions: [
      {
        ask: ["Which cells of B share one number?", "B 的哪些单元格共用一个数？"],
        answer: [
          "Those of one diagonal: B knows the distance alone.",
          "同一条对角线上的：B 只知道距离。",
        ],
        holds: (lesson) => isOneByDistance(lesson, "B"),
      },
    ],
  },
  step: positionBiasStep,
};

function positionBiasStep(facts) {
  const { anatomy, layer } = facts;
  if (layer.positionBias === undefined) return null;
  const { raw, scaled, scores } = partsOfScores(facts);
  const hasScale = layer.scaled !== layer.raw;
  const value = anatomy.adopt(unbroadcast(anatomy, layer.positionBias));
  const rank = anatomy.shape(value).length;
  const bias = { ...scores, symbol: "B", value, look: rank === 4 ? "map" : "mapOfThree" };
  return {
    layout: { kind: "stack", parts: [hasScale ? scaled : raw, bias, scores] },
    forward: `S = ${hasScale ? "Z_c" : "Z"} + B`,
    backward: ["dB = dS"],
  };
}

function unbroadcast(anatomy, value) {
  const op = anatomy.op(value);
  return op?.op === "broadcast_to" ? op.inputs[0] : value;
}

const reasonsToHide = {
  causal: ["A token that is to be guessed must not be looked at.", "生成时后面的词对前面的词不可见。"],
  window: ["Only keys that are near count: the cost grows with the window.", "只看近处的键：代价随窗口增长。"],
  padding: ["Padding fills up a batch, and is no token.", "填充只是为了补齐一批，不是词元。"],
};

export const maskChapter = {
  id: "mask",
  group: "weights",
  texts: {
    name: ["Mask", "掩码"],
    what: ["What a query may not see gets the score −∞.", "查询不该看到的位置得分变成 −∞。"],
    why: reasonsToHide.causal,
    questions: [
      {
        ask: ["dP is not zero where the mask hides. Is dS?", "被掩码处 dP 不为零，那么 dS 呢？"],
        answer: [
          "dS is exactly 0 there: P is 0, and dS = P ∘ (…).",
          "dS 恰好为 0：因为 P = 0，而 dS = P ∘ (…)。",
        ],
        holds: hiddenCellsStopAtSoftmax,
      },
    ],
  },
  step: maskStep,
};

function maskStep(facts) {
  const { hasMask, scores, masked } = partsOfScores(facts);
  if (!hasMask) return null;
  const { hidden, reason } = ruleOfMask(facts.anatomy, facts.layer);
  return {
    texts: { ...maskChapter.texts, why: reasonsToHide[reason] },
    layout: { kind: "stack", parts: [scores, masked] },
    forward: `S_m = S + M, M_{ij} = -∞ (${hidden})`,
    backward: [`dS = dS_m, 0 (${hidden})`],
  };
}

// Which keys j the mask hides from query i, and why.
function ruleOfMask(anatomy, { masked }) {
  const mask = anatomy.op(masked).attributes.mask.value;
  const { data, shape } = anatomy.tape.values[mask];
  const { causal, window, isPadding } = rulesOf(data, shape);
  const rules = [
    causal ? "j > i" : null,
    window > 0 ? (causal ? `i - j > ${window}` : `|i - j| > ${window}`) : null,
    isPadding.includes(1) ? "padding" : null,
  ];
  const reason = causal ? "causal" : window > 0 ? "window" : "padding";
  return { hidden: rules.filter(Boolean).join(" ∨ "), reason };
}
