// Switches of the model, as edits of its tape: forward, and backward with it.
import { Draft } from "./draft.js";
import { attentionLayers, backwardOf, gradientOfValue, isAccumulation, residualAdditions } from "./layers.js";
import { sizeOf } from "../ops/shapes.js";

// settings: {causal: true | false, window: how far the keys that are seen may be away, 0: any,
// scale: true (1 / sqrt(D)) | false | a factor, bias: true | false, residual: true | false}; what
// is not said stays as it was recorded. `prefix`: a layer, or a block, that alone is changed. As in
// the engine, attention to a source has neither order nor window, and an encoder no order; unless
// `prefix` is such a layer.
/** @param {Tape} tape @param {Settings} settings @param {string} [prefix] */
export function applySettings(tape, settings, prefix = "") {
  const draft = new Draft(tape);
  const { window, scale, bias, residual } = settings;
  const causal = isCausalFixed(tape.program) ? undefined : settings.causal;
  if (scale !== undefined) eachLayer(draft, prefix, (layer) => setScale(draft, layer, scale));
  if (causal !== undefined || window !== undefined) {
    eachLayer(draft, prefix, (layer) => {
      const isMeant = layer.scope === prefix;
      if (!layer.isSelf && !isMeant) return;
      const order = layer.inEncoder && !isMeant ? undefined : causal;
      setMask(draft, layer, { causal: order, window });
    });
  }
  if (bias === false) eachLayer(draft, prefix, ({ scope }) => clearBiases(draft, scope));
  if (residual === false) cutResiduals(draft, prefix);
  return draft.done();
}

// Learned biases of distances are of those distances that the mask allows: another mask would want
// others, and the mask stays.
/** @param {Program} program */
export function isCausalFixed({ facts }) {
  return facts.some(
    ({ kind, name }) =>
      kind === "parameter" && /(^|\.)distance_bias$/.test(name) && !name.startsWith("encoder."),
  );
}

// Each edit sees the ops as those before it left them.
/** @param {Draft} draft @param {string} prefix @param {(layer: AttentionOps) => void} edit */
function eachLayer(draft, prefix, edit) {
  const { length } = attentionLayers(draft.program(), prefix);
  for (let i = 0; i < length; i++) edit(attentionLayers(draft.program(), prefix)[i]);
}

/** @param {Draft} draft @param {AttentionOps} layer @param {boolean | number} scale */
function setScale(draft, layer, scale) {
  const program = draft.program();
  const width = draft.facts[layer.product.inputs[0]].shape.at(-1);
  const factor = scale === true ? 1 / Math.sqrt(width) : scale === false ? 1 : scale;
  const attributes = { factor };
  if (layer.scale) {
    draft.replaceOp(layer.scale.id, { attributes });
    for (const { id } of backwardOf(program, layer.scale, "scale")) {
      draft.replaceOp(id, { attributes });
    }
    return;
  }
  if (factor === 1) return;
  const product = layer.bias ? layer.bias.inputs[0] : layer.scores;
  const isScores = product === layer.scores;
  const gradient = program.facts[layer.scores].gradient;
  const { paths } = program.facts[product];
  if (isScores) draft.setFact(product, { paths: undefined });
  const op = { op: "scale", attributes };
  draft.insertAfter(product, gradient, {
    forward: op,
    backward: op,
    paths: isScores ? paths : undefined,
  });
}

// The places of a mask […, Tq, Tk]: f(index, j, p) for key j and a query that stands at key
// p = i + Tk - Tq.
/** @param {Shape} shape @param {(index: number, j: number, p: number) => void} f */
function forEachPlace(shape, f) {
  const [queries, keys] = shape.slice(-2);
  const size = sizeOf(shape);
  for (let index = 0; index < size; index++) {
    const p = (Math.floor(index / keys) % queries) + keys - queries;
    f(index, index % keys, p);
  }
}

/** @param {number} j @param {number} p @param {{ causal: boolean, window: number }} options */
const hides = (j, p, { causal, window }) =>
  (causal && j > p) || (window > 0 && Math.abs(p - j) > window);

// The rule that a mask was made of.
/** @param {NumberList} mask @param {Shape} shape */
export function rulesOf(mask, shape) {
  const rule = { causal: true, window: 0 };
  let farthest = 0;
  forEachPlace(shape, (index, j, p) => {
    if (mask[index]) return;
    farthest = Math.max(farthest, Math.abs(p - j));
    if (j > p) rule.causal = false;
  });
  forEachPlace(shape, (index, j, p) => {
    if (mask[index] && !hides(j, p, rule)) rule.window = farthest;
  });
  return rule;
}

/**
 * @param {Draft} draft
 * @param {AttentionOps} layer
 * @param {{ causal?: boolean, window?: number }} wanted
 */
function setMask(draft, layer, wanted) {
  const { shape } = draft.facts[layer.softmax.output];
  const recorded = layer.mask && draft.tape.values[layer.mask.attributes.mask.value].data;
  const rule = recorded ? rulesOf(recorded, shape) : { causal: false, window: 0 };
  if (wanted.causal !== undefined) rule.causal = wanted.causal;
  if (wanted.window !== undefined) rule.window = wanted.window;
  const mask = new Float64Array(sizeOf(shape));
  forEachPlace(shape, (index, j, p) => {
    if (hides(j, p, rule)) mask[index] = 1;
  });
  if (!layer.mask && !mask.includes(1)) return;
  const value = draft.addConstant(shape, mask);
  /** @param {number} number */
  const attributes = (number) => ({ mask: { value }, value: number });
  if (layer.mask) {
    const program = draft.program();
    draft.replaceOp(layer.mask.id, { attributes: attributes(-Infinity) });
    for (const { id } of backwardOf(program, layer.mask, "masked_fill")) {
      draft.replaceOp(id, { attributes: attributes(0) });
    }
    return;
  }
  const { paths = [], gradient } = draft.facts[layer.scores];
  /** @param {string} path */
  const isMasked = (path) => path.endsWith("masked_scores");
  draft.setFact(layer.scores, { paths: paths.filter((path) => !isMasked(path)) });
  draft.insertAfter(layer.scores, gradient, {
    forward: { op: "masked_fill", attributes: attributes(-Infinity) },
    backward: { op: "masked_fill", attributes: attributes(0) },
    paths: paths.filter(isMasked),
  });
}

/** @param {Draft} draft @param {string} scope */
function clearBiases(draft, scope) {
  draft.facts.forEach(({ name, kind, shape }, value) => {
    if (kind !== "parameter" || !name.startsWith(`${scope}.`) || !name.endsWith(".bias")) return;
    draft.setNumbers(value, new Float64Array(shape[0]));
  });
}

// y = x + f(x) becomes f(x), and the gradient of x loses the share that came past f.
/** @param {Draft} draft @param {string} prefix */
function cutResiduals(draft, prefix) {
  const program = draft.program();
  for (const { id, inputs, output } of residualAdditions(program, prefix)) {
    draft.passOn(id, inputs[1]);
    cutResidualGradient(draft, program, gradientOfValue(program, output));
  }
}

// Where the gradient of y is added to that of f, the latter alone is passed on.
/** @param {Draft} draft @param {Program} program @param {number} gradient */
export function cutResidualGradient(draft, program, gradient) {
  for (const op of program.readers[gradient].filter(isAccumulation)) {
    const [a, b] = draft.ops[op.id].inputs;
    if (a === gradient || b === gradient) draft.passOn(op.id, a === gradient ? b : a);
  }
}
