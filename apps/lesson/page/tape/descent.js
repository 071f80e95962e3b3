// Steps of gradient descent, computed in the page: W ← W − η dW for every parameter; or Adam's, as the engine makes
// them.

// Each step is made once; of those before the last the parameters are kept.
export class Descent {
  // move(tape): where a step leads, {parameters, fall}, with the fall of the loss to first order.
  /** @param {Tape} tape @param {(tape: Tape) => Move} move */
  constructor(tape, move) {
    this.move = move;
    /** @type {{ parameters: Map<string, Tensor>, loss: number, fall: number, norm: number }[]} */
    this.points = [];
    this.add(tape, new Map(parametersOf(tape).map(({ name, value }) => [name, tape.values[value]])));
  }

  /** @param {Tape} tape @param {Map<string, Tensor>} parameters */
  add(tape, parameters) {
    this.last = tape;
    this.next = this.move(tape);
    const norm = Math.sqrt(squareOfGradients(tape));
    this.points.push({ parameters, loss: tape.loss(), fall: this.next.fall, norm });
  }

  // A step that was made elsewhere, with all numbers of its tape.
  /** @param {Descent["points"][0]} point @param {Tensor[]} values */
  accept(point, values) {
    this.last = this.last.withValues(values);
    this.next = null;
    this.points.push(point);
  }

  // The tape after so many steps.
  /** @param {number} steps */
  tapeAt(steps) {
    while (this.points.length <= steps) {
      const { parameters } = this.next ?? this.move(this.last);
      this.add(withParameters(this.last, parameters), parameters);
    }
    const { parameters } = this.points[steps];
    return steps === this.points.length - 1 ? this.last : withParameters(this.last, parameters);
  }
}

// Parameters by their names, in any tape of the model.
/** @param {Tape} tape @param {Map<string, Tensor>} parameters */
export function withParameters(tape, parameters) {
  return tape.changed({ values: new Map(parametersOf(tape).map(({ name, value }) => [value, parameters.get(name)])) });
}

// W − η dW
/** @param {number} rate @returns {(tape: Tape) => Move} */
export const gradientStep = (rate) => (tape) => moved(tape, () => (slope) => rate * slope);

// w − η (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε), with m = β₁ m + (1 − β₁) g and v = β₂ v + (1 − β₂) g²
/** @param {number} rate @param {{ betas: number[], epsilon: number }} options @returns {(tape: Tape) => Move} */
export function adamStep(rate, { betas: [beta1, beta2], epsilon }) {
  /** @type {Map<string, { m: Numbers, v: Numbers }>} */
  const moments = new Map();
  let t = 0;
  return (tape) => {
    t += 1;
    const [correction1, correction2] = [1 - beta1 ** t, 1 - beta2 ** t];
    return moved(tape, (name, size) => {
      if (!moments.has(name)) moments.set(name, { m: new Float64Array(size), v: new Float64Array(size) });
      const { m, v } = moments.get(name);
      return (slope, i) => {
        m[i] = beta1 * m[i] + (1 - beta1) * slope;
        v[i] = beta2 * v[i] + (1 - beta2) * slope * slope;
        return (rate * (m[i] / correction1)) / (Math.sqrt(v[i] / correction2) + epsilon);
      };
    });
  };
}

// Each parameter less what changeOf(name, size)(slope, index) gives for its numbers.
/** @param {Tape} tape @param {(name: string, size: number) => (slope: number, i: number) => number} changeOf */
function moved(tape, changeOf) {
  let fall = 0;
  const parameters = new Map(
    parametersOf(tape).map(({ name, value, gradient }) => {
      const { shape, data } = tape.values[value];
      const slopes = tape.values[gradient].data;
      const change = changeOf(name, data.length);
      const now = new Float64Array(data.length);
      for (let i = 0; i < data.length; i++) {
        const by = change(slopes[i], i);
        fall += slopes[i] * by;
        now[i] = data[i] - by;
      }
      return [name, { shape, data: now }];
    }),
  );
  return { parameters, fall };
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
    .map(({ name, kind, gradient }, value) => ({ name, kind, gradient, value }))
    .filter(({ kind, gradient }) => kind === "parameter" && gradient !== undefined && gradient !== null);
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
    const { data } = tape.values[gradient];
    for (let i = 0; i < data.length; i++) sum += data[i] * data[i];
  }
  return sum;
}
