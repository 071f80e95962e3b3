// Why a derivative, or a share, is zero or close to it: each reason has a name.
import { largestNumber } from "../ops/numbers.js";

// {id, …} or null, where the number is not small.
export function reasonForZero(lesson, matrix, row, column) {
  if (matrix.derived) return null;
  const number = matrix.number(row, column);
  if (number === -Infinity || (number === 0 && isMasked(lesson, matrix, row, column))) {
    return { id: matrix.isGradient || number === 0 ? "masked" : "hidden" };
  }
  if (!matrix.isGradient) return matrix.isRounding(row, column) ? { id: "rounding" } : null;
  const size = Math.abs(number);
  if (size <= roundingOf(lesson)) return structural(lesson, matrix, row, column);
  if (matrix.family === "p" && isScores(lesson, matrix) && size < 1e-3 * matrix.largest) {
    const at = matrix.index(row, column);
    const { weights } = lesson.layer;
    const share = lesson.isHidden(weights, at) ? NaN : lesson.tape.number(weights, at);
    if (share < 1e-3) return { id: "no_share", share: share.toPrecision(3) };
    if (share > 1 - 1e-3) return { id: "saturated", share: share.toPrecision(6) };
  }
  return size < 1e-3 * matrix.largest
    ? { id: "small", part: (size / matrix.largest).toPrecision(2) }
    : null;
}

const isScores = ({ layer }, matrix) =>
  [layer.raw, layer.scaled, layer.scores, layer.masked].includes(matrix.of);

const isOfWeights = ({ layer }, matrix) => matrix.value === layer.weights;

function isMasked(lesson, matrix, row, column) {
  if (!isScores(lesson, matrix) && !isOfWeights(lesson, matrix)) return false;
  return isHidden(lesson, matrix.index(row, column));
}

function isHidden(lesson, index) {
  return lesson.tape.number(lesson.layer.masked ?? lesson.layer.scores, index) === -Infinity;
}

// How many keys a query sees, in the head that is open.
export function keysSeen(lesson, query) {
  const scores = lesson.rowOfHead(lesson.layer.masked ?? lesson.layer.scores, query);
  return scores.filter((x) => x !== -Infinity).length;
}

function structural(lesson, matrix, row, column) {
  const { layer, anatomy } = lesson;
  const { of } = matrix;
  const name = anatomy.facts[of]?.name ?? "";
  const isOfQuery = of === layer.q || isScores(lesson, matrix);
  if (isOfQuery && keysSeen(lesson, row) === 1) return { id: "one_key", row };
  if (name === `${layer.path}.key.bias`) return { id: "key_bias" };
  if (of === anatomy.at("logits") && lesson.isIgnored(row)) return { id: "not_counted" };
  if (of === anatomy.at("token_embedding.weight")) return { id: "not_in_text" };
  if (isReluCut(lesson, matrix, row, column)) return { id: "switched_off" };
  return { id: matrix.number(row, column) === 0 ? "nothing_arrives" : "rounding" };
}

function isReluCut(lesson, matrix, row, column) {
  if (matrix.of === undefined || matrix.of !== lesson.layer.up) return false;
  return lesson.tape.number(matrix.of, matrix.index(row, column)) < 0;
}

// What rounding leaves of a gradient that is zero.
export const roundingOf = ({ anatomy, tape, kept }) =>
  kept.get("rounding", [tape], () => {
    const logits = anatomy.at("logits");
    const gradient = logits === undefined ? null : tape.gradient(logits);
    return 1e-14 * (gradient ? largestNumber(gradient.data) : 1);
  });
