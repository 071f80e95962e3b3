// What must hold whatever the numbers are, computed from them.
import { largestNumber } from "../ops/numbers.js";

const mostViolation = 1e-12;

// Each gives the worst violation, in units of the largest number, or null where it does not apply.
const checks = {
  // rows of P sum to 1; a row that sees nothing, to 0
  rows_of_weights(lesson) {
    const { data, columns, rows } = rowsOfValue(lesson, lesson.layer.weights);
    return worstOf(rows, (row) => {
      const sum = sumOf(data, row * columns, columns);
      return sum === 0 ? 0 : Math.abs(sum - 1);
    });
  },

  rows_of_scores: (lesson) => rowsSumToZero(lesson, scoresOf(lesson)),

  // Σ_j dP_ij P_ij = Σ_c dO_ic O_ic
  two_sums(lesson) {
    const { weights, heads } = lesson.layer;
    const left = productsByRow(lesson, weights);
    const right = heads === undefined ? null : productsByRow(lesson, heads);
    if (!left || !right || left.length !== right.length) return null;
    const size = largestNumber(left) || 1;
    return worstOf(left.length, (row) => Math.abs(left[row] - right[row]) / size);
  },

  // where the mask hides, P and dS are exactly 0
  nothing_above(lesson) {
    const { layer, tape, anatomy } = lesson;
    const scores = tape.values[scoresOf(lesson)].data;
    const gradient = anatomy.gradient(scoresOf(lesson));
    if (!scores.includes(-Infinity) || gradient === undefined) return null;
    const weights = tape.values[layer.weights].data;
    const back = tape.values[gradient].data;
    return worstOf(scores.length, (i) =>
      scores[i] === -Infinity ? Math.max(Math.abs(weights[i]), Math.abs(back[i])) : 0,
    );
  },

  sum_of_paths(lesson) {
    const { total, shares } = lesson.step;
    if (!total) return null;
    const whole = lesson.tape.values[total].data;
    const parts = shares.map(({ value }) => lesson.tape.values[value].data);
    const size = largestNumber(whole) || 1;
    return worstOf(whole.length, (i) => {
      const sum = parts.reduce((all, part) => all + part[i], 0);
      return Math.abs(whole[i] - sum) / size;
    });
  },

  rows_of_logits: (lesson) => rowsSumToZero(lesson, lesson.anatomy.at("logits")),

  // softmax does not see what is added to all scores of a row
  key_bias(lesson) {
    const { anatomy, layer, tape } = lesson;
    const linear = anatomy.linearBehind(layer.k);
    const isChanged = anatomy.changesOf(layer.k).length > 0;
    const gradient = linear?.bias === undefined ? undefined : anatomy.gradient(linear.bias);
    if (gradient === undefined || isChanged) return null;
    const other = anatomy.gradient(linear.weight);
    const size = largestNumber(tape.values[other].data) || 1;
    return largestNumber(tape.values[gradient].data) / size;
  },
};

const scoresOf = ({ layer }) => layer.masked ?? layer.scores;

export function rowsOfValue({ tape, anatomy }, value) {
  const { data } = tape.values[value];
  const shape = anatomy.shape(value);
  const columns = shape[shape.length - 1];
  return { data, columns, rows: data.length / columns };
}

function sumOf(data, from, count) {
  let sum = 0;
  for (let i = from; i < from + count; i++) sum += data[i];
  return sum;
}

// The largest of f(0 … count - 1), or NaN.
function worstOf(count, f) {
  let worst = 0;
  for (let i = 0; i < count; i++) {
    const x = f(i);
    if (Number.isNaN(x)) return x;
    if (x > worst) worst = x;
  }
  return worst;
}

function rowsSumToZero(lesson, value) {
  const gradient = value === undefined ? undefined : lesson.anatomy.gradient(value);
  if (gradient === undefined) return null;
  const { columns } = rowsOfValue(lesson, value);
  const { data } = lesson.tape.values[gradient];
  const size = largestNumber(data) || 1;
  const rows = data.length / columns;
  return worstOf(rows, (row) => Math.abs(sumOf(data, row * columns, columns)) / size);
}

function productsByRow(lesson, value) {
  const gradient = lesson.anatomy.gradient(value);
  if (gradient === undefined) return null;
  const { data, columns, rows } = rowsOfValue(lesson, value);
  const back = lesson.tape.values[gradient].data;
  return Float64Array.from({ length: rows }, (_, row) => {
    let sum = 0;
    for (let i = row * columns; i < (row + 1) * columns; i++) sum += data[i] * back[i];
    return sum;
  });
}

// [{name, worst, holds}] of those that apply.
export function invariantsOf(lesson, names = Object.keys(checks)) {
  return names
    .map((name) => ({ name, worst: checks[name](lesson) }))
    .filter(({ worst }) => worst !== null)
    .map((each) => ({ ...each, holds: each.worst <= mostViolation }));
}
