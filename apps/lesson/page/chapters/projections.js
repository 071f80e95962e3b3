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
  group: "projections",
  hasExercises: true,
  questions: [{ key: "query.weight_gradient", holds: ({ step }) => !step.sharesWeight }],
  step: (facts) => projectionSteps(facts, projections.query),
};

export const keyChapter = {
  id: "key",
  group: "projections",
  questions: [
    { key: "key.zero_bias", holds: (lesson) => isZero(lesson, "db_k") },
    { key: "key.who_adds" },
  ],
  step: (facts) => projectionSteps(facts, projections.key),
};

export const valueChapter = {
  id: "value",
  group: "projections",
  questions: [{ key: "value.without_softmax" }],
  step: (facts) => projectionSteps(facts, projections.value),
};

// Which of queries, keys and values a weight makes.
function usesOf({ anatomy, layer }, weight) {
  return Object.values(projections).filter(
    ({ letter }) => anatomy.linearBehind(ownValue(layer, letter))?.weight === weight,
  );
}

function projectionSteps(facts, { id, symbol: plainSymbol, letter }) {
  const { anatomy, layer, queries, keys } = facts;
  const value = ownValue(layer, letter);
  const isRepeated = value !== layer[letter];
  const symbol = isRepeated ? `${plainSymbol}_g` : plainSymbol;
  const narrow = anatomy.narrowLinearBehind(value);
  const linear = narrow ?? anatomy.linearBehind(value);
  const names = letter === "q" ? queries : keys;
  const source = layer.isCross && letter !== "q" ? "X_{enc}" : "X";
  const result = { symbol, value, look: "head", family: letter, rowNames: names };
  if (!linear) return [];
  const cut = anatomy.shape(value)[3];
  const rotated = linear.output !== value && anatomy.maker(value)?.op === "rotary";
  const before = rotated
    ? { ...result, symbol: `${symbol}_0`, value: unrotated(anatomy, value) }
    : result;
  const rotation = rotated ? [rotationStep(id, before, result)] : [];
  if (narrow) return [narrowStep(facts, { id, letter, linear, result: before }), ...rotation];
  const top = partsOfLinear(linear, `_${letter}`, { cut });
  const hasBias = top.length > 1;
  const left = sequencePart(source, linear.x, names);
  const share = shareThrough(anatomy, {
    scope: `${layer.path}.${id}`,
    path: letter,
    symbol: source,
    x: linear.x,
    rowNames: names,
  });
  const whole = share?.symbol ?? `d${source}`;
  const headShare = {
    ...left,
    symbol: shareSymbol(source, `${letter},h`),
    quantity: "stream",
    derived: "headShare",
    gradient: { ...before, value: anatomy.gradient(before.value), of: before.value },
    weight: top[0],
  };
  const hasHeads = anatomy.shape(value)[2] > 1 && headShare.gradient.value !== undefined;
  const gradientPart = hasHeads ? headShare : share;
  const back = gradientPart?.symbol ?? whole;
  const uses = usesOf(facts, linear.weight).map((use) =>
    use.letter === letter ? before.symbol : use.symbol,
  );
  const ofUses = (text) => uses.map(text).join(" + ");
  const step = {
    id,
    why: uses.length > 1 ? "projection.why_shared" : undefined,
    sharesWeight: uses.length > 1,
    layout: {
      kind: "product",
      left: gradientPart ? { ...left, gradientPart } : left,
      top,
      result: before,
    },
    forward: `${before.symbol} = ${source} W_${letter}${hasBias ? ` + b_${letter}` : ""}`,
    backward: [
      `dW_${letter} = ${ofUses((use) => `${source}^T d${use}`)}`,
      ...(hasBias ? [`db_${letter} = ${ofUses((use) => `colsum(d${use})`)}`] : []),
      `${back} = d${before.symbol} W_${letter}^T`,
      ...(hasHeads ? [`${whole} = Σ_h ${back}`] : []),
      ...(isRepeated ? [`d${symbol} = Σ_h d${plainSymbol}_h`] : []),
    ],
    invariants: letter === "k" && uses.length === 1 ? ["key_bias"] : undefined,
  };
  return [step, ...rotation];
}

// Q = X_h W_q, with the columns X_h of X that are of this head.
function narrowStep({ anatomy, layer, queries }, { id, letter, linear, result }) {
  const { x, weight, bias } = linear;
  const cut = anatomy.shape(weight)[1];
  const source = layer.isCross && letter !== "q" ? "X_{enc,h}" : "X_{h}";
  const way = { scope: `${layer.path}.${id}`, path: letter, symbol: source, x };
  const left = { ...sequencePart(source, x, result.rowNames ?? queries), cut };
  const share = shareThrough(anatomy, { ...way, rowNames: left.rowNames });
  const back = share?.symbol ?? `d${source}`;
  const top = [
    { symbol: `W_${letter}`, value: weight, look: "mapOfThree", family: "w" },
    { symbol: `b_${letter}`, value: bias, look: "rows", family: "w", cut: anatomy.shape(weight)[2] },
  ].filter(({ value }) => value !== undefined);
  const to = result.symbol;
  return {
    id,
    why: "projection.why_narrow",
    layout: {
      kind: "product",
      left: share ? { ...left, gradientPart: { ...share, cut } } : left,
      top,
      result,
    },
    forward: `${to} = ${source} W_${letter}${bias === undefined ? "" : ` + b_${letter}`}`,
    backward: [
      `dW_${letter} = ${source}^T d${to}`,
      ...(bias === undefined ? [] : [`db_${letter} = colsum(d${to})`]),
      `${back} = d${to} W_${letter}^T`,
    ],
  };
}

function unrotated(anatomy, value) {
  return anatomy.adopt(anatomy.maker(value).inputs[0]);
}

function rotationStep(id, before, after) {
  return {
    id: `${id}_rotation`,
    texts: "rotation",
    said: { symbol: after.symbol },
    questions: [{ key: "rotation.gradient" }],
    hasExercises: false,
    layout: { kind: "stack", parts: ofQuantity("rotated", [before, after]) },
    forward: `${after.symbol}_t = R_t ${before.symbol}_t`,
    backward: [`d${before.symbol}_t = R_t^T d${after.symbol}_t`],
  };
}

export const headsChapter = {
  id: "heads",
  group: "projections",
  questions: [
    { key: "heads.bands", holds: hasOwnKeys },
    { key: "heads.shared_band", holds: (lesson) => !hasOwnKeys(lesson) },
  ],
  step: headsStep,
};

// No key is shared by several heads.
function hasOwnKeys({ anatomy, layer }) {
  return anatomy.shape(layer.ownK)[2] === anatomy.shape(layer.q)[2];
}

function headsStep({ anatomy, layer, queries, keys }) {
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
    forward: "Q_{all} = [Q_0 Q_1 …]",
    backward: ["dQ_{all} = [dQ_0 dQ_1 …]"],
  };
}
