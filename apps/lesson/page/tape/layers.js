// The attention layers of a tape, found by their ops: Attention(Q, K, V) = softmax(scale Q Kᵀ) V.

/** @param {string} scope @param {string} prefix */
const isWithin = (scope, prefix) => !prefix || scope === prefix || scope.startsWith(`${prefix}.`);

/** @param {string} scope */
const isAttention = (scope) => /(^|\.)(cross_)?attention$/.test(scope ?? "");

// From the input of the softmax back to the product Q Kᵀ.
/** @param {Program} program @param {Op} softmax */
function stepsBefore(program, softmax) {
  /** @type {Partial<AttentionOps>} */
  const steps = { softmax };
  let value = softmax.inputs[0];
  for (;;) {
    const op = program.makers[value];
    if (!op) return steps;
    if (!steps.scores && op.op !== "masked_fill") steps.scores = value;
    if (op.op === "matmul") return { ...steps, product: op };
    if (op.op === "masked_fill") steps.mask = op;
    else if (op.op === "add") steps.bias = op;
    else if (op.op === "scale") steps.scale = op;
    else if (op.op !== "reshape" && !op.isEdit) return steps;
    value = op.isEdit ? op.inputs[1] : op.inputs[0];
  }
}

// [{scope, isSelf, inEncoder, softmax, mask, bias, scale, product: ops or undefined, scores: a
// value}]
/** @param {Program} program @param {string} [prefix] @returns {AttentionOps[]} */
export function attentionLayers(program, prefix = "") {
  const softmaxes = program.inOrder
    .filter((op) => !op.backward && op.op === "softmax" && isAttention(op.scope));
  return softmaxes
    .filter(({ scope }) => isWithin(scope, prefix))
    .map((op) => ({
      scope: op.scope,
      isSelf: !op.scope.endsWith("cross_attention"),
      inEncoder: op.scope.startsWith("encoder."),
      ...stepsBefore(program, op),
    }))
    .filter(({ product }) => product);
}

// The backward ops of a forward op.
/** @param {Program} program @param {Op} forward @param {string} [name] */
export function backwardOf(program, forward, name) {
  return program.inOrder
    .filter((op) => op.backward_of === forward.id && op.backward && (!name || op.op === name));
}

// The additions x + layer(x) of the blocks.
/** @param {Program} program @param {string} [prefix] */
export function residualAdditions(program, prefix = "") {
  return program.inOrder
    .filter((op) => !op.backward && op.op === "add" && /(^|\.)blocks\.\d+$/.test(op.scope ?? ""))
    .filter(({ scope }) => isWithin(scope, prefix));
}

// The gradient of a value; where nobody named the value, what the backward of its only reader
// gives.
/** @param {Program} program @param {number} value */
export function gradientOfValue(program, value) {
  const known = program.facts[value].gradient;
  if (known !== undefined && known !== null) return known;
  const reader = program.readers[value].find((op) => !op.backward);
  if (!reader) return null;
  const shape = String(program.facts[value].shape);
  const results = backwardOf(program, reader)
    .map(({ output }) => output)
    .filter((output) => String(program.facts[output].shape) === shape)
    .filter((output) => program.readers[output].every((op) => op.backward_of !== reader.id));
  return results.at(-1) ?? null;
}

// Where gradients of several uses of a value are added up.
/** @param {Op} op */
export const isAccumulation = (op) =>
  op.backward && op.op === "add" && (op.backward_of === undefined || op.backward_of === null);

// What a gradient is the sum of; the gradient of another value is no sum here.
/** @param {Program} program @param {number} gradient @param {boolean} [isWhole] @returns {number[]} */
export function addendsOf(program, gradient, isWhole = true) {
  const op = program.makers[gradient];
  const isOther = !isWhole && program.gradientOf[gradient].length > 0;
  if (isOther || !op || !isAccumulation(op)) return [gradient];
  return op.inputs.flatMap((value) => addendsOf(program, value, false));
}
