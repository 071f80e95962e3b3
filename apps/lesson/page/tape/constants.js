// The engine has as constants what a formula decided from other numbers: where a relu is shut,
// which element is the largest, which class is the target, and tokens in another shape. On the tape
// they are made by ops, so that they follow when these numbers are edited.
import { sizeOf } from "../ops/shapes.js";

/** @param {{ numbers?: PackedNumbers }} options */
const numbersText = ({ numbers }) => JSON.stringify(numbers);

// Tokens or targets with their axes: the named constant with the numbers of this one.
/**
 * @param {LessonDocument["values"]} values
 * @param {number} flat
 * @param {(name: string) => boolean} isRight
 */
function sameTokens(values, flat, isRight) {
  const found = values.findIndex(
    (value, id) =>
      id < flat &&
      value.kind === "constant" &&
      value.name &&
      isRight(value.name) &&
      value.shape.length > 1 &&
      numbersText(value) === numbersText(values[flat]),
  );
  return found < 0 ? null : { output: flat, op: "reshape", inputs: [found] };
}

/** @param {string} name */
const isTargets = (name) => name === "targets";

// By the op that reads the constant, and for a backward op the forward one before it.
/** @type {{ [ops: string]: (op: RecordedOp, document: LessonDocument, forward: RecordedOp) => any }} */
const rules = {
  embedding: ({ attributes }, { values }) =>
    sameTokens(values, attributes.index.value, (name) => !isTargets(name)),
  cross_entropy: ({ attributes }, { values }) =>
    sameTokens(values, attributes.targets.value, isTargets),
  "relu masked_fill": ({ attributes }, document, forward) => ({
    output: attributes.mask.value,
    op: "is_not_positive",
    inputs: [forward.output],
  }),
  "max scatter_add": ({ attributes }, document, forward) => ({
    output: attributes.index.value,
    op: "index_of_max",
    inputs: forward.inputs,
    attributes: forward.attributes,
  }),
  "cross_entropy one_hot": ({ inputs }, document, forward) => ({
    output: inputs[0],
    op: "class_of_target",
    inputs: [forward.attributes.targets.value],
    attributes: forward.attributes,
  }),
  "cross_entropy scale": reshapedOneHot,
  "cross_entropy add_scalar": reshapedOneHot,
  "cross_entropy broadcast_to": reshapedGradient,
  "sum broadcast_to": reshapedGradient,
};

// one_hot gives [N, 1, V], and what reads it is [N, V].
/** @param {RecordedOp} op @param {LessonDocument} others */
function reshapedOneHot({ inputs, backward_of: origin }, { ops }) {
  const oneHot = ops.find((op) => op.op === "one_hot" && op.backward_of === origin);
  return oneHot ? { output: inputs[0], op: "reshape", inputs: [oneHot.output] } : null;
}

// What comes back to a loss is a constant, and so is a copy of it in another shape.
/** @param {RecordedOp} op @param {LessonDocument} document @param {RecordedOp} forward */
function reshapedGradient({ inputs: [copy], backward_of: origin }, document, forward) {
  const { values } = document;
  if (values[copy].dtype === "bool") return null;
  const arriving = arrivingGradient(document, forward.output);
  if (arriving === undefined) return null;
  if (sizeOf(values[arriving].shape) !== sizeOf(values[copy].shape)) return null;
  return { output: copy, op: "reshape", inputs: [arriving], backward_of: origin };
}

// The gradient of a value, from the only op that reads it; where that passes it on as it is, from
// the one after.
/** @type {(document: LessonDocument, value: number) => number} */
function arrivingGradient(document, value) {
  const { ops, values, forward_ops: forwardOps } = document;
  const reader = ops.findIndex((op) => op.inputs.includes(value));
  if (reader < 0 || reader >= forwardOps) return values[value].gradient;
  const last = ops.findLast((op) => op.backward_of === reader);
  return last ? last.output : arrivingGradient(document, ops[reader].output);
}

// Ops that make constants of the document: [{op, inputs, output, attributes, before}], before the
// op with that index.
/** @param {LessonDocument} document */
export function makersOfConstants(document) {
  const made = new Map();
  document.ops.forEach((op, before) => {
    const forward = document.ops[op.backward_of];
    const rule = rules[forward ? `${forward.op} ${op.op}` : op.op];
    const maker = rule?.(op, document, forward);
    if (!maker || made.has(maker.output)) return;
    if (document.values[maker.output].kind !== "constant") return;
    const backward = before >= document.forward_ops;
    made.set(maker.output, { attributes: {}, scope: op.scope, backward, ...maker, before });
  });
  return [...made.values()];
}
