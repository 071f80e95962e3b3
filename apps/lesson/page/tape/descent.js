// Steps of gradient descent, computed in the page: W ← W − η dW for every parameter.

// {tape, losses, squares}: the tape after `steps` steps; of each tape on the way its loss, and ‖dW‖² over all
// parameters. To first order a step lowers the loss by η ‖dW‖².
/** @param {Tape} tape @param {number} steps @param {number} rate */
export function descended(tape, steps, rate) {
  const losses = [tape.loss()];
  const squares = [squareOfGradients(tape)];
  let at = tape;
  for (let step = 0; step < steps; step++) {
    at = at.changed({ values: steppedParameters(at, rate) });
    losses.push(at.loss());
    squares.push(squareOfGradients(at));
  }
  return { tape: at, losses, squares };
}

/** @param {Tape} tape */
function parametersOf({ facts }) {
  return facts
    .map(({ kind, gradient }, value) => ({ kind, gradient, value }))
    .filter(({ kind, gradient }) => kind === "parameter" && gradient !== undefined && gradient !== null);
}

/** @param {Tape} tape @param {number} rate @returns {Map<number, Tensor>} */
function steppedParameters(tape, rate) {
  return new Map(
    parametersOf(tape).map(({ value, gradient }) => {
      const { shape, data } = tape.values[value];
      const slopes = tape.values[gradient].data;
      return [value, { shape, data: Float64Array.from(data, (x, i) => x - rate * slopes[i]) }];
    }),
  );
}

// A rate with which the first step should lower the loss by a tenth.
/** @param {Tape} tape */
export function usualRate(tape) {
  const rate = tape.loss() / (10 * squareOfGradients(tape));
  return Number.isFinite(rate) && rate > 0 ? Number(rate.toPrecision(1)) : 0.1;
}

/** @param {Tape} tape */
function squareOfGradients(tape) {
  let sum = 0;
  for (const { gradient } of parametersOf(tape)) {
    for (const x of tape.values[gradient].data) sum += x * x;
  }
  return sum;
}
