// Switches of the model, as edits of its tape: forward, and backward with it.
import { Draft } from "./draft.js";
import { attentionLayers, backwardOf, gradientOfValue, isAccumulation, residualAdditions } from "./layers.js";
import { sizeOf } from "../ops/shapes.js";

// settings: {causal: true | false, window: how far the keys that are seen may be away, 0: any,
// scale: true (1 / sqrt(D)) | false, bias: true | false, residual: true | false}; what
// is not said stays as it was recorded. As in the engine, attention to a source has neither order
// nor window, and an encoder no order.
/** @param {Tape} tape @param {Settings} settings */
export function applySettings(tape, settings) {
  const draft = new Draft(tape);
  const { window, scale, bias, residual } = settings;
  const causal = isCausalFixed(tape.program) ? undefined : settings.causal;
  if (scale !== undefined) eachLayer(draft, (layer) => setScale(draft, layer, scale));
  if (causal !== undefined || window !== undefined) {
    eachLayer(draft, (layer) => {
      if (layer.isSelf) setMask(draft, layer, { causal: layer.inEncoder ? undefined : causal, window });
    });
  }
  if (bias === false) eachLayer(draft, ({ scope }) => clearBiases(draft, scope));
  if (residual === false) cutResiduals(draft);
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
/** @param {Draft} draft @param {(layer: AttentionOps) => void} edit */
function eachLayer(draft, edit) {
  const { length } = attentionLayers(draft.program());
  for (let i = 0; i < length; i++) edit(attentionLayers(draft.program())[i]);
}

/** @param {Draft} draft @param {AttentionOps} layer @param {boolean} scale */
function setScale(draft, layer, scale) {
  const width = draft.facts[layer.product.inputs[0]].shape.at(-1);
  const factor = scale ? 1 / Math.sqrt(width) : 1;
  if (!layer.scale && factor === 1) return;
  const value = layer.bias ? layer.bias.inputs[0] : layer.scores;
  const isMoved = () => !layer.bias;
  putOp(draft, layer, { name: "scale", known: layer.scale, value, forward: { factor }, backward: { factor }, isMoved });
}

// Other attributes for an op of the scores that is there; or such an op after a value, some of whose paths move to what
// it makes.
/**
 * @param {Draft} draft
 * @param {AttentionOps} layer
 * @param {{ name: string, known?: Op, value: number, forward: Attributes, backward: Attributes,
 *   isMoved: (path: string) => boolean }} options
 */
function putOp(draft, layer, { name, known, value, forward, backward, isMoved }) {
  if (known) {
    const back = backwardOf(draft.program(), known, name);
    draft.replaceOp(known.id, { attributes: forward });
    for (const { id } of back) draft.replaceOp(id, { attributes: backward });
    return;
  }
  const { gradient } = draft.facts[layer.scores];
  const { paths = [] } = draft.facts[value];
  draft.setFact(value, { paths: paths.filter((path) => !isMoved(path)) });
  draft.insertAfter(value, gradient, {
    forward: { op: name, attributes: forward },
    backward: { op: name, attributes: backward },
    paths: paths.filter(isMoved),
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
  const [forward, backward] = [-Infinity, 0].map((number) => ({ mask: { value }, value: number }));
  const isMoved = (/** @type {string} */ path) => path.endsWith("masked_scores");
  putOp(draft, layer, { name: "masked_fill", known: layer.mask, value: layer.scores, forward, backward, isMoved });
}

/** @param {Draft} draft @param {string} scope */
function clearBiases(draft, scope) {
  draft.facts.forEach(({ name, kind, shape }, value) => {
    if (kind !== "parameter" || !name.startsWith(`${scope}.`) || !name.endsWith(".bias")) return;
    draft.setNumbers(value, new Float64Array(shape[0]));
  });
}

// y = x + f(x) becomes f(x), and the gradient of x loses the share that came past f.
/** @param {Draft} draft */
function cutResiduals(draft) {
  const program = draft.program();
  for (const { id, inputs, output } of residualAdditions(program)) {
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
