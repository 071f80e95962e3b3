// Steps of gradient descent, computed in the page: W ← W − η dW for every parameter.

// Each step is made once; of those before the last the parameters are kept. To first order a step lowers the loss by
// η ‖dW‖², with ‖dW‖² over all parameters.
export class Descent {
  /** @param {Tape} tape @param {number} rate */
  constructor(tape, rate) {
    this.rate = rate;
    /** @type {{ parameters: Map<number, Tensor>, loss: number, square: number }[]} */
    this.points = [];
    const now = parametersOf(tape).map(({ value }) => /** @type {[number, Tensor]} */ ([value, tape.values[value]]));
    this.add(tape, new Map(now));
  }

  /** @param {Tape} tape @param {Map<number, Tensor>} parameters */
  add(tape, parameters) {
    this.last = tape;
    this.points.push({ parameters, loss: tape.loss(), square: squareOfGradients(tape) });
  }

  // The tape after so many steps.
  /** @param {number} steps */
  tapeAt(steps) {
    while (this.points.length <= steps) {
      const values = steppedParameters(this.last, this.rate);
      this.add(this.last.changed({ values }), values);
    }
    return steps === this.points.length - 1 ? this.last : this.last.changed({ values: this.points[steps].parameters });
  }
}

const mostKept = 1e7; // numbers, of all steps

// How many steps can be made.
/** @param {Tape} tape */
export function mostSteps(tape) {
  const size = parametersOf(tape).reduce((sum, { value }) => sum + tape.values[value].data.length, 1);
  return Math.min(300, Math.floor(mostKept / size));
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
