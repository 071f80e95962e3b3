// Derivatives of the loss by central differences, which know nothing of the backward pass.
const roundingError = 2 ** -53;

// The loss as a function of one number of a forward value. `through`: the one op that reads the number; others see it
// as it was.
/** @param {Tape} tape @param {number} value @param {number} index @param {Op} [through] */
function lossAlong(tape, value, index, through) {
  const { shape, data } = tape.values[value];
  return (/** @type {number} */ number) => {
    const moved = { shape, data: data.with(index, number) };
    /** @type {[number, Tensor]} */
    const first = through ? [through.output, tape.computed(through, tape.values.with(value, moved))] : [value, moved];
    return tape.changed({ values: new Map([first]) }).loss();
  };
}

/** @param {(x: number) => number} f @param {number} x @param {number} h */
function centralDifference(f, x, h) {
  const [right, left] = [x + h, x - h]; // as they are rounded
  return (f(right) - f(left)) / (right - left);
}

// From D(h), D(h / 2), D(h / 4) = D + c2 h² + c4 h⁴ + … to D: each step cancels one more power.
// Richardson, "The deferred approach to the limit", 1927.
/** @param {number[]} options */
function extrapolated([wide, middle, narrow]) {
  const a = middle + (middle - wide) / 3;
  const b = narrow + (narrow - middle) / 3;
  const value = b + (b - a) / 15;
  return { value, error: Math.max(Math.abs(value - b), Math.abs(b - a) / 15) };
}

// The widest steps, from which smaller ones follow where the function bends too much for them.
const firstSteps = [2 ** -8, 2 ** -11, 2 ** -14, 2 ** -17];
const goodEnough = 1e-9;

// {value, error}: the derivative, and an estimate of its error.
/** @param {Tape} tape @param {number} value @param {number} index @param {Op} [through] */
export function finiteDifference(tape, value, index, through) {
  const f = lossAlong(tape, value, index, through);
  const x = tape.number(value, index);
  const unit = Math.max(1, Math.abs(x));
  const noise = roundingError * Math.max(1, Math.abs(tape.loss()));
  let best = { value: NaN, error: Infinity };
  for (const first of firstSteps) {
    const steps = [first * unit, (first * unit) / 2, (first * unit) / 4];
    const found = extrapolated(steps.map((h) => centralDifference(f, x, h)));
    const error = found.error + (4 * noise) / steps[2];
    if (error < best.error) best = { value: found.value, error };
    if (best.error <= goodEnough * Math.max(1e-2, Math.abs(best.value))) break;
  }
  return best;
}

// The error of central differences against a derivative, for steps 1e-1 … 1e-13: large steps miss the bend of the
// function, small ones drown in rounding. Yields {h, error}, one by one, for who wants to do something else in between.
/** @param {Tape} tape @param {number} value @param {number} index @param {{ through?: Op, derivative: number }} options */
export function* vCurvePoints(tape, value, index, { through, derivative }) {
  const f = lossAlong(tape, value, index, through);
  const x = tape.number(value, index);
  for (let digits = 1; digits <= 13; digits++) {
    const h = Number(`1e-${digits}`);
    yield { h, error: Math.abs(centralDifference(f, x, h) - derivative) };
  }
}
