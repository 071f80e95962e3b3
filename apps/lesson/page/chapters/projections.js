// Queries, keys and values: linear maps of a sequence, cut into heads; normed, and turned where positions are rotary.
import { numberOfBlock, pathsOfScope, shareSymbol, sharesOfUses, shareThrough } from "./ledgers.js";
import { allHeads, ofQuantity, ownValue, partsOfLinear, sequencePart } from "./parts.js";
import { headNormStep } from "./norms.js";
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

// How queries, keys or values are made. `made`: what the map itself gives, before it is changed.
function projectionOf({ anatomy, layer }, { symbol, letter }) {
  const value = ownValue(layer, letter);
  const narrow = anatomy.narrowLinearBehind(value);
  const linear = narrow ?? anatomy.linearBehind(value);
  const isRepeated = value !== layer[letter];
  const changes = anatomy.changesOf(value);
  const [name, raw] = isRepeated ? [`${symbol}_g`, `${symbol}_{g,raw}`] : [symbol, `${symbol}_{raw}`];
  const [whole, ofHead] = layer.isCross && letter !== "q" ? ["X_{enc}", "X_{enc,h}"] : ["X", "X_{h}"];
  const source = narrow ? ofHead : whole;
  const { scope } = linear ? anatomy.op(linear.output) : {};
  const own = pathsOfScope[scope?.split(".").at(-1)] ?? letter; // that of the map, where several share it
  const path = whole === "X" ? own : `${own},${numberOfBlock(layer.path)}`; // every layer reads the memory
  const index = isRepeated ? "g" : "h"; // of a head, or of a group of heads
  const ofOne = shareSymbol(source, `${path.replace(own, letter)},${index}`); // what comes back through it
  const made = changes.length > 0 ? raw : name;
  const isNarrow = Boolean(narrow);
  return { letter, value, linear, scope, isNarrow, isRepeated, changes, name, made, source, path, index, ofOne };
}

// Q = X W_q; or Q = X_h W_q, with the columns X_h of X that are of this head.
function projectionSteps(facts, projection) {
  const { anatomy, queries, keys } = facts;
  const { id, letter } = projection;
  const found = projectionOf(facts, projection);
  const { value, linear, isNarrow, isRepeated, changes, name, made, source } = found;
  if (!linear) return [];
  const rowNames = letter === "q" ? queries : keys;
  const result = { symbol: name, value, look: "head", family: letter, rowNames };
  const stages = changes.map(({ inputs: [input] }, i) => ({
    ...result,
    symbol: i === 0 ? made : `${name}_n`,
    value: anatomy.adopt(input),
  }));
  const [before, ...after] = [...stages, result];
  const [, outOfHead, inOfHead] = anatomy.shape(linear.weight);
  const ofHead = isNarrow ? { cut: inOfHead } : {};
  const left = { ...sequencePart(source, linear.x, rowNames), ...ofHead };
  const top = isNarrow
    ? partsOfLinear(linear, `_${letter}`, { cut: outOfHead }).map((part, i) => (i === 0 ? { ...part, look: "weightOfThree" } : part))
    : partsOfLinear(linear, `_${letter}`, { cut: anatomy.shape(value)[3] });
  const share = shareThrough(anatomy, { ...found, symbol: source, x: linear.x, rowNames });
  const headShare = {
    ...left,
    symbol: found.ofOne,
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
  const ofSource = uses.filter((use) => use.source === source);
  const arriving = ofSource.map((use) => `d${use.made}`);
  const ofShared = isRepeated ? [`d${name} = Σ_{h ∈ g} d${projection.symbol}_h`] : [];
  const step = {
    id,
    why: isNarrow ? "projection.why_narrow" : isShared ? "projection.why_shared" : undefined,
    sharesWeight: isShared,
    said: { source: source.replace(/[{}]/g, "") },
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
      ...(isSum ? [`${whole} = ${ofSource.map((use) => `Σ_${use.index} ${use.ofOne}`).join(" + ")}`] : []),
      ...(changes.length > 0 ? [] : ofShared),
    ],
    invariants: letter === "k" && !isShared ? ["key_bias"] : undefined,
  };
  const changed = after.map((to, i) => {
    const rules = to === result ? ofShared : [];
    const change = changes[i].op === "rotary" ? rotationStep : headNormStep;
    return change(id, stages[i], to, rules, facts);
  });
  return [step, ...changed];
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
  step(facts) {
    const { anatomy, layer, queries, keys, heads } = facts;
    if (heads === 1) return null;
    const all = Object.values(projections).map(({ letter }) =>
      allHeads(anatomy, layer, letter, { rowNames: letter === "q" ? queries : keys }),
    );
    const rules = Object.values(projections).map(({ symbol, letter }) => {
      const bands = anatomy.shape(ownValue(layer, letter))[2];
      if (bands === 1) return `${symbol}_{all} = ${symbol}_g`;
      const name = (band) => `${symbol}_${bands < heads ? `{g,${band}}` : band}`;
      return `${symbol}_{all} = [${name(0)} ${name(1)} …]`;
    });
    const without = rulesWithoutMaps(facts);
    const isCut = (rule) => !without.forward.some((other) => other[0] === rule[0]);
    return {
      layout: { kind: "stack", parts: all },
      forward: [...without.forward, ...rules.filter(isCut)],
      backward: [...rules.map((rule) => rule.replace(/[QKV](?=_)/g, "d$&")), ...without.backward],
    };
  },
};

// Where Q, K and V are what is read itself, as in softmax(X Xᵀ) X, each head of Q and K turned where positions are rotary.
export function rulesWithoutMaps(facts) {
  const { anatomy, layer, heads } = facts;
  const isTurned = (value) => anatomy.maker(value)?.op === "rotary";
  const before = (value) => anatomy.maker(isTurned(value) ? anatomy.maker(value).inputs[0] : value);
  const isDirect = layer.read !== undefined && before(layer.q) === anatomy.maker(layer.read);
  const rules = Object.values(projections).map((projection) => {
    const { letter, value, source, path } = projectionOf(facts, projection);
    const x = layer.isCross && letter !== "q" ? anatomy.at("encoder.output") : layer.read;
    const whole = `${projection.symbol}${heads > 1 ? "_{all}" : ""}`;
    const share = sharesOfUses(anatomy, x).length > 1 ? shareSymbol(source, path) : `d${source}`;
    if (!isTurned(value)) return { forward: `${whole} = ${source}`, backward: `${share} = d${whole}` };
    return { forward: `${whole} [t] = R_t ${source} [t]`, backward: `${share} [t] = R_t^T d${whole} [t]` };
  });
  const shown = isDirect ? rules : [];
  return { forward: shown.map(({ forward }) => forward), backward: shown.map(({ backward }) => backward) };
}

// No key is shared by several heads.
function hasOwnKeys({ anatomy, layer }) {
  return anatomy.shape(layer.ownK)[2] === anatomy.shape(layer.q)[2];
}
