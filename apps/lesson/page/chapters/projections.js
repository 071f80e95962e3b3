// Queries, keys and values: linear maps of a sequence, turned where positions are rotary, cut into heads.
import { shareSymbol, shareThrough } from "./ledgers.js";
import { ofQuantity, ownValue, partsOfLinear, sequencePart } from "./parts.js";
import { isZero } from "../lesson/premises.js";

const projections = {
  query: { id: "query", symbol: "Q", letter: "q" },
  key: { id: "key", symbol: "K", letter: "k" },
  value: { id: "value", symbol: "V", letter: "v" },
};

export const queryChapter = {
  id: "query",
  hasExercises: true,
  questions: [{ key: "query.weight_gradient", holds: ({ step }) => !step.sharesWeight }],
  step: (facts) => projectionSteps(facts, projections.query),
};

export const keyChapter = {
  id: "key",
  questions: [
    { key: "key.zero_bias", holds: (lesson) => isZero(lesson, "db_k") },
    { key: "key.who_adds" },
  ],
  step: (facts) => projectionSteps(facts, projections.key),
};

export const valueChapter = {
  id: "value",
  questions: [{ key: "value.without_softmax" }],
  step: (facts) => projectionSteps(facts, projections.value),
};

// How queries, keys or values are made. `made`: what the map itself gives, before it is turned.
function projectionOf({ anatomy, layer }, { symbol, letter }) {
  const value = ownValue(layer, letter);
  const narrow = anatomy.narrowLinearBehind(value);
  const linear = narrow ?? anatomy.linearBehind(value);
  const isRepeated = value !== layer[letter];
  const isRotated = anatomy.maker(value)?.op === "rotary";
  const [name, raw] = isRepeated ? [`${symbol}_g`, `${symbol}_{g,raw}`] : [symbol, `${symbol}_{raw}`];
  const [whole, ofHead] = layer.isCross && letter !== "q" ? ["X_{enc}", "X_{enc,h}"] : ["X", "X_{h}"];
  const source = narrow ? ofHead : whole;
  return { letter, value, linear, isNarrow: Boolean(narrow), isRepeated, isRotated, name, made: isRotated ? raw : name, source };
}

// Q = X W_q; or Q = X_h W_q, with the columns X_h of X that are of this head.
function projectionSteps(facts, projection) {
  const { anatomy, queries, keys } = facts;
  const { id, letter } = projection;
  const { value, linear, isNarrow, isRepeated, isRotated, name, made, source } = projectionOf(facts, projection);
  if (!linear) return [];
  const rowNames = letter === "q" ? queries : keys;
  const result = { symbol: name, value, look: "head", family: letter, rowNames };
  const before = isRotated ? { ...result, symbol: made, value: unrotated(anatomy, value) } : result;
  const [, outOfHead, inOfHead] = anatomy.shape(linear.weight);
  const ofHead = isNarrow ? { cut: inOfHead } : {};
  const left = { ...sequencePart(source, linear.x, rowNames), ...ofHead };
  const top = isNarrow
    ? partsOfLinear(linear, `_${letter}`, { cut: outOfHead }).map((part, i) => (i === 0 ? { ...part, look: "weightOfThree" } : part))
    : partsOfLinear(linear, `_${letter}`, { cut: anatomy.shape(value)[3] });
  const { scope } = anatomy.op(linear.output);
  const share = shareThrough(anatomy, { scope, path: letter, symbol: source, x: linear.x, rowNames });
  const headShare = {
    ...left,
    symbol: shareSymbol(source, `${letter},h`),
    quantity: "stream",
    derived: "headShare",
    gradient: { ...before, value: anatomy.gradient(before.value), of: before.value },
    weight: top[0],
  };
  const isSum = !isNarrow && anatomy.shape(value)[2] > 1 && headShare.gradient.value !== undefined;
  const gradientPart = isSum ? headShare : share && { ...share, ...ofHead };
  const whole = share?.symbol ?? `d${source}`;
  const back = gradientPart?.symbol ?? whole;
  const all = Object.values(projections).map((each) => projectionOf(facts, each));
  const uses = all.filter((each) => each.linear?.weight === linear.weight);
  const isShared = uses.length > 1;
  const arriving = uses.filter((use) => use.source === source).map((use) => `d${use.made}`);
  const ofShared = isRepeated ? [`d${name} = Σ_h d${projection.symbol}_h`] : [];
  const step = {
    id,
    why: isNarrow ? "projection.why_narrow" : isShared ? "projection.why_shared" : undefined,
    sharesWeight: isShared,
    layout: {
      kind: "product",
      left: gradientPart ? { ...left, gradientPart } : left,
      top,
      result: before,
    },
    forward: [`${made} = ${source} W_${letter}${top.length > 1 ? ` + b_${letter}` : ""}`],
    backward: [
      `dW_${letter} = ${uses.map((use) => `${use.source}^T d${use.made}`).join(" + ")}`,
      ...(top.length > 1 ? [`db_${letter} = ${uses.map((use) => `colsum(d${use.made})`).join(" + ")}`] : []),
      `${back} = ${isSum || arriving.length === 1 ? `d${made}` : `(${arriving.join(" + ")})`} W_${letter}^T`,
      ...(isSum && !isShared ? [`${whole} = Σ_h ${back}`] : []),
      ...(isRotated ? [] : ofShared),
    ],
    invariants: letter === "k" && !isShared ? ["key_bias"] : undefined,
  };
  return [step, ...(isRotated ? [rotationStep(id, before, result, ofShared)] : [])];
}

function unrotated(anatomy, value) {
  return anatomy.adopt(anatomy.maker(value).inputs[0]);
}

function rotationStep(id, before, after, ofShared) {
  return {
    id: `${id}_rotation`,
    texts: "rotation",
    said: { symbol: after.symbol },
    questions: [{ key: "rotation.gradient" }],
    hasExercises: false,
    layout: { kind: "stack", parts: ofQuantity("rotated", [before, after]) },
    forward: [`${after.symbol} [t] = R_t ${before.symbol} [t]`],
    backward: [`d${before.symbol} [t] = R_t^T d${after.symbol} [t]`, ...ofShared],
  };
}

export const headsChapter = {
  id: "heads",
  questions: [
    { key: "heads.bands", holds: hasOwnKeys },
    { key: "heads.shared_band", holds: (lesson) => !hasOwnKeys(lesson) },
  ],
  step({ anatomy, layer, queries, keys, heads }) {
    if (heads === 1) return null;
    const all = Object.values(projections).map(({ symbol, letter }) => ({
      symbol: `${symbol}_{all}`,
      value: ownValue(layer, letter),
      look: "heads",
      band: anatomy.shape(layer[letter])[3],
      family: letter,
      rowNames: letter === "q" ? queries : keys,
    }));
    return {
      layout: { kind: "stack", parts: all },
      forward: ["Q_{all} = [Q_0 Q_1 …]"],
      backward: ["dQ_{all} = [dQ_0 dQ_1 …]"],
    };
  },
};

// No key is shared by several heads.
function hasOwnKeys({ anatomy, layer }) {
  return anatomy.shape(layer.ownK)[2] === anatomy.shape(layer.q)[2];
}
