// The scores of one head: the product, its scale, a bias of positions, the mask, the softmax with the exponentials on the way.
import { budgetOf } from "./budget.js";
import { geometryOf } from "./geometry.js";
import { partsOfScores } from "./parts.js";
import { rulesWithoutMaps } from "./projections.js";
import { rulesOf } from "../tape/settings.js";
import {
  hiddenCellsStopAtSoftmax,
  invariantHolds,
  isMultiple,
  isOneByDistance,
  isRowZero,
} from "../lesson/premises.js";
import { keysSeen } from "../lesson/reasons.js";

export const scoresChapter = {
  id: "scores",
  hasExercises: true,
  questions: [
    { key: "scores.first_row", holds: (lesson) => keysSeen(lesson, 0) === 1 && isRowZero(lesson, "dQ", 0) },
    { key: "scores.of_query" },
  ],
  step(facts) {
    const { layer, queries, keys, heads } = facts;
    const { raw } = partsOfScores(facts);
    const without = heads > 1 ? { forward: [], backward: [] } : rulesWithoutMaps(facts); // else where heads are cut
    return {
      drawing: geometryOf,
      layout: {
        kind: "product",
        left: { symbol: "Q", value: layer.q, look: "head", family: "q", rowNames: queries },
        top: [{ symbol: "K^T", value: layer.k, look: "headTurned", family: "k", columnNames: keys }],
        result: raw,
      },
      forward: [...without.forward, "Z = Q K^T"],
      backward: ["dQ = dZ K", "dK = dZ^T Q", ...without.backward],
    };
  },
};

export const scaleChapter = {
  id: "scale",
  hasExercises: true,
  questions: [{ key: "scale.gradient", holds: isScaleGradient }],
  step(facts) {
    const { layer } = facts;
    const { raw, scaled, scores } = partsOfScores(facts);
    if (layer.scaled === layer.raw) return null;
    const after = layer.positionBias === undefined ? scores : scaled;
    const isUsual = Math.abs(layer.scale * Math.sqrt(facts.width) - 1) < 1e-12;
    const scaledBy = (symbol) => (isUsual ? `${symbol} / √d_k` : `${layer.scale} ${symbol}`);
    return {
      layout: { kind: "stack", parts: [raw, after] },
      forward: [`${after.symbol} = ${scaledBy("Z")}`],
      backward: [`dZ = ${scaledBy(`d${after.symbol}`)}`],
    };
  },
};

function isScaleGradient(lesson) {
  const [before, after] = lesson.step.layout.parts;
  const width = lesson.anatomy.shape(lesson.layer.q)[3];
  return isMultiple(lesson, `d${after.symbol}`, Math.sqrt(width), `d${before.symbol}`);
}

export const positionBiasChapter = {
  id: "position_bias",
  questions: [{ key: "position_bias.one_number", holds: (lesson) => isOneByDistance(lesson, "B") }],
  step(facts) {
    const { anatomy, layer } = facts;
    if (layer.positionBias === undefined) return null;
    const { raw, scaled, scores } = partsOfScores(facts);
    const hasScale = layer.scaled !== layer.raw;
    const value = anatomy.adopt(unbroadcast(anatomy, layer.positionBias));
    const rank = anatomy.shape(value).length;
    const bias = { ...scores, symbol: "B", value, look: rank === 4 ? "map" : "mapOfThree" };
    const before = hasScale ? scaled : raw;
    const isLearned = anatomy.gradient(value) !== undefined;
    return {
      layout: { kind: "stack", parts: [before, bias, scores] },
      forward: [`S = ${before.symbol} + B`],
      backward: [`d${before.symbol} = dS`, ...(isLearned ? ["dB = dS"] : [])],
    };
  },
};

function unbroadcast(anatomy, value) {
  const op = anatomy.op(value);
  return op?.op === "broadcast_to" ? op.inputs[0] : value;
}

export const maskChapter = {
  id: "mask",
  questions: [{ key: "mask.hidden", holds: hiddenCellsStopAtSoftmax }],
  step(facts) {
    const { hasMask, scores, masked } = partsOfScores(facts);
    if (!hasMask) return null;
    const { hidden, reason } = ruleOfMask(facts.anatomy, facts.layer);
    return {
      why: `mask.why_${reason}`,
      layout: { kind: "stack", parts: [scores, masked] },
      forward: hidden ? ["S_m = S + M", `M_{ij} = -∞ (${hidden})`] : "S_m = S",
      backward: hidden ? `dS = dS_m, 0 (${hidden})` : "dS = dS_m",
    };
  },
};

// Which keys j the mask hides from query i, and why.
function ruleOfMask(anatomy, { masked }) {
  const mask = anatomy.op(masked).attributes.mask.value;
  const { data, shape } = anatomy.tape.values[mask];
  const { causal, window } = rulesOf(data, shape);
  const rules = [
    causal ? "j > i" : null,
    window > 0 ? (causal ? `i - j > ${window}` : `|i - j| > ${window}`) : null,
  ];
  const hidden = rules.filter(Boolean).join(" ∨ ");
  const reason = causal ? "causal" : window > 0 ? "window" : "none";
  return { hidden, reason };
}

export const softmaxChapter = {
  id: "softmax",
  hasExercises: true,
  questions: [{ key: "softmax.zero_sums", holds: (lesson) => invariantHolds(lesson, "rows_of_scores") }],
  step(facts) {
    const { anatomy, layer } = facts;
    const { masked, weights } = partsOfScores(facts);
    const product = anatomy.softmaxProduct(layer.weights);
    const exponentials = {
      ...masked,
      symbol: "E",
      hue: "share",
      quantity: undefined,
      derived: "exponentials",
      gradientPart: product && { ...masked, symbol: "P∘dP", value: product, isGradient: true },
    };
    return {
      drawing: budgetOf,
      layout: { kind: "stack", parts: [masked, exponentials, weights] },
      forward: [`E = exp(${masked.symbol} - rowmax(${masked.symbol}))`, "P = E / rowsum(E)"],
      backward: [`d${masked.symbol} = P ∘ (dP - rowsum(P ∘ dP))`],
      invariants: ["rows_of_weights", "rows_of_scores", "two_sums", "nothing_above"],
    };
  },
};
