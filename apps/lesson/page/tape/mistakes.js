// Mistakes that people make in a backward pass, planted in that of a tape: forward, and with it the
// loss, stays right, so that differences of the loss tell the true derivatives.
import { Draft } from "./draft.js";
import { addendsOf, attentionLayers, backwardOf, gradientOfValue, residualAdditions } from "./layers.js";
import { largestNumber } from "../ops/numbers.js";
import { cutResidualGradient } from "./settings.js";

/** @param {Program} program @param {string} scope */
const layerAt = (program, scope) => attentionLayers(program, scope)[0];

// The backward ops of one name, of an op of a layer.
/** @type {(find: (layer: AttentionOps) => Op, name: string) => Mistake["place"]} */
const backwardOps = (find, name) => (program, scope) => {
  const layer = layerAt(program, scope);
  const forward = layer && find(layer);
  const ops = forward ? backwardOf(program, forward, name) : [];
  return ops.length > 0 ? ops : null;
};

/** @type {Mistake["change"]} */
const passAllOn = (draft, ops) => {
  for (const { id, inputs } of ops) draft.passOn(id, inputs[0]);
};

// Each finds what it changes in a program, or null where there is no place for it; change(draft,
// place) plants it.
/** @type {Mistake} */
const forgottenScale = {
  id: "scale",
  place: backwardOps(({ scale }) => scale, "scale"),
  change(draft, ops) {
    for (const { id } of ops) draft.replaceOp(id, { attributes: { factor: 1 } });
  },
};

// The weights are 0 where the mask hides, and with them dS: this one does no harm.
/** @type {Mistake} */
const forgottenMask = { id: "mask", place: backwardOps(({ mask }) => mask, "masked_fill"), change: passAllOn };

// dS = P (dP - Σ P dP) without the sum.
/** @type {Mistake} */
const forgottenRowSum = { id: "row_sum", place: backwardOps(({ softmax }) => softmax, "sub"), change: passAllOn };

// dK = dS Q, where it is dSᵀ Q. Shapes tell it where there are more keys than queries, or fewer.
/** @type {Mistake} */
const forgottenTranspose = {
  id: "transpose",
  place(program, scope) {
    const layer = layerAt(program, scope);
    if (!layer) return null;
    const [, queries, keys] = program.facts[layer.product.output].shape;
    if (queries !== keys) return null;
    const ops = backwardOf(program, layer.product, "matmul");
    const ofKeys = ops.filter(({ attributes }) => attributes.transpose_a);
    return ofKeys.length > 0 ? ofKeys : null;
  },
  change(draft, ops) {
    for (const { id, attributes } of ops) {
      draft.replaceOp(id, { attributes: { ...attributes, transpose_a: false } });
    }
  },
};

// x is read by queries, keys and values; of the three gradients, that of the queries is not added
// to but kept alone.
/** @type {Mistake} */
const overwrittenGradient = {
  id: "overwritten",
  place(program, scope) {
    const layer = layerAt(program, scope);
    if (!layer) return null;
    const queries = program.ancestors(layer.product.inputs[0]);
    const inputs = [...queries]
      .filter((op) => op.scope === layer.scope || op.scope?.startsWith(`${layer.scope}.`))
      .flatMap((op) => op.inputs);
    for (const x of inputs) {
      const gradient = gradientOfValue(program, x);
      const terms = gradient === null ? [] : addendsOf(program, gradient);
      const isOfQueries = (/** @type {number} */ term) => queries.has(program.ops[program.makers[term]?.backward_of]);
      const kept = terms.find(isOfQueries);
      if (terms.length > 1 && kept !== undefined) return { op: program.makers[gradient], kept };
    }
    return null;
  },
  change: (draft, { op, kept }) => draft.passOn(op.id, kept),
};

// y = x + f(x), whose gradient comes back through f alone.
/** @type {Mistake} */
const forgottenResidual = {
  id: "residual",
  place(program, scope) {
    const layer = layerAt(program, scope);
    const block = layer?.scope.replace(/\.[^.]*$/, "");
    const made = layer && program.dependents(layer.softmax.output, (op) => !op.backward);
    const addition = layer && residualAdditions(program, block).find((op) => made[op.inputs[1]]);
    return addition ? gradientOfValue(program, addition.output) : null;
  },
  change: (draft, gradient) => cutResidualGradient(draft, draft.program(), gradient),
};

// [{id, isPossible(tape, scope), plant(tape, scope) -> Tape}], scope: that of an attention layer,
// "blocks.0.attention". Where a mistake is not possible, the tape is left as it is.
export const mistakes = [
  forgottenScale,
  forgottenMask,
  forgottenRowSum,
  forgottenTranspose,
  overwrittenGradient,
  forgottenResidual,
].map(({ id, place, change }) => ({
  id,
  /** @param {Tape} tape @param {string} scope */
  isPossible: (tape, scope) => place(tape.program, scope) !== null,
  /** @param {Tape} tape @param {string} scope */
  plant(tape, scope) {
    const found = place(tape.program, scope);
    if (found === null) return tape;
    const draft = new Draft(tape);
    change(draft, found);
    return draft.done();
  },
}));

// Compares the numbers of a tape with those of the right one:
//   compare(value) -> {isRight, ratio}
// ratio: wrong / right where it is the same in all cells, or null.
/** @param {Tape} right @param {Tape} wrong */
export function comparerOf(right, wrong) {
  const gradients = right.facts
    .map((_, value) => value)
    .filter((value) => right.isNamed(value) && right.gradient(value))
    .map((value) => largestNumber(right.gradient(value).data));
  const noise = roundingShare * Math.max(...gradients);
  /** @param {number} value */
  return (value) => comparedNumbers(right.values[value].data, wrong.values[value].data, noise);
}

const rightWithin = 1e-9;
// What rounding leaves of a gradient that is 0, like that of the bias of keys.
const roundingShare = 1e-12;

/** @param {Numbers} right @param {Numbers} wrong @param {number} noise */
function comparedNumbers(right, wrong, noise) {
  const unit = largestNumber(right);
  const apart = largestNumber(right.map((x, i) => wrong[i] - x));
  const isZero = unit <= noise;
  const at = right.findIndex((x) => Math.abs(x) === unit);
  const ratio = isZero ? null : wrong[at] / right[at];
  const keepsRatio = right.every((x, i) => Math.abs(wrong[i] - ratio * x) <= rightWithin * unit);
  return {
    isRight: apart <= Math.max(rightWithin * unit, noise),
    ratio: keepsRatio && !isZero ? ratio : null,
  };
}
