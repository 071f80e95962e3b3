// Ops that know positions: the turns of rotary, and the states of recurrences.
import { Expression } from "./expression.js";
import { logisticFunction } from "./functions.js";

// Pairs of numbers turned by the angle p w_i, p = first_position + t, w_i = base^(-2i / D).
//   x: [B, T, H, D]
/** @param {OpNode} node @param {number} index @param {number} sign */
function turnOf({ shape: [, length, heads, width], attributes }, index, sign) {
  const t = Math.floor(index / (heads * width)) % length;
  const pair = Math.floor((index % width) / 2);
  const position = (attributes.first_position ?? 0) + t;
  return sign * position * (attributes.base ?? 10000) ** ((-2 * pair) / width);
}

/** @param {number} sign @returns {OpKind} */
function rotaryOp(sign) {
  return {
    opens: true,
    run(node) {
      const x = node.inputs[0].data;
      const y = new Float64Array(x.length);
      for (let i = 0; i < x.length; i += 2) {
        const angle = turnOf(node, i, sign);
        const cos = Math.cos(angle);
        const sin = Math.sin(angle);
        y[i] = x[i] * cos - x[i + 1] * sin;
        y[i + 1] = x[i] * sin + x[i + 1] * cos;
      }
      return y;
    },
    cell(node, index) {
      const { value } = node.inputs[0];
      const even = index - (index % 2);
      const angle = Expression.number(turnOf(node, even, sign), "angle");
      /** @type {(f: string, x: Formula) => Formula} */
      const turned = (f, i) => Expression.product([Expression.apply(f, angle), i]);
      const first = Expression.cell(value, even);
      const second = Expression.cell(value, even + 1);
      if (index === even) return Expression.difference(turned("cos", first), turned("sin", second));
      return Expression.sum([turned("sin", first), turned("cos", second)]);
    },
    readers: (node, input, index) => [index - (index % 2), index - (index % 2) + 1],
  };
}

// A scan over positions t: state_t = step(x_t + W h_{t - 1}, state_{t - 1}), from `first`.
//   x: [B, T, G H], W: [G H, H], first: [B, S], states: [B, T, S]; h is the head of a state
/** @param {OpNode} node */
function scanSizes({ inputs: [x, weight, first], attributes }) {
  const [batch, length, gateWidth] = x.shape;
  const hidden = weight.shape[1];
  const state = first.shape[1];
  const { reverse } = attributes;
  // Where the state before position t is: in `first`, or in the states.
  /** @param {number} b @param {number} t */
  const before = (b, t) => {
    const from = reverse ? t + 1 : t - 1;
    return from < 0 || from >= length ? null : (b * length + from) * state;
  };
  return { batch, length, gateWidth, hidden, state, reverse, before };
}

// `numbers` is how an element of the new state comes from a = x + W h and the state before.
/** @param {Scan} options @returns {OpKind} */
function scanOp({ step, formula }) {
  return {
    run(node) {
      const [{ data: x }, { data: weight }, { data: first }] = node.inputs;
      const sizes = scanSizes(node);
      const { batch, length, gateWidth, hidden, state, reverse } = sizes;
      const states = new Float64Array(batch * length * state);
      const a = new Float64Array(gateWidth);
      for (let b = 0; b < batch; b++) {
        for (let i = 0; i < length; i++) {
          const t = reverse ? length - 1 - i : i;
          const from = sizes.before(b, t);
          const before =
            from === null
              ? first.subarray(b * state, (b + 1) * state)
              : states.subarray(from, from + state);
          const at = (b * length + t) * state;
          for (let g = 0; g < gateWidth; g++) {
            a[g] = x[(b * length + t) * gateWidth + g];
            for (let j = 0; j < hidden; j++) a[g] += weight[g * hidden + j] * before[j];
          }
          step(a, before, hidden, states.subarray(at, at + state));
        }
      }
      return states;
    },
    cell(node, index) {
      const [x, weight, first] = node.inputs;
      const sizes = scanSizes(node);
      const { length, gateWidth, hidden, state } = sizes;
      const row = Math.floor(index / state);
      const b = Math.floor(row / length);
      const t = row % length;
      const from = sizes.before(b, t);
      /** @param {number} i */
      const before = (i) =>
        from === null
          ? Expression.cell(first.value, b * state + i)
          : Expression.cell(node.output, from + i);
      /** @param {number} g */
      const a = (g) =>
        Expression.sum([
          Expression.cell(x.value, row * gateWidth + g),
          ...Array.from({ length: hidden }, (_, j) =>
            Expression.product([Expression.cell(weight.value, g * hidden + j), before(j)]),
          ),
        ]);
      return formula(a, before, hidden, index % state);
    },
    // What the next step reads of the states is not counted: only what comes from the inputs.
    readers(node, input, index) {
      const sizes = scanSizes(node);
      const { batch, length, gateWidth, hidden, state, reverse } = sizes;
      /** @param {number} unit */
      const elements = (unit) =>
        Array.from({ length: state / hidden }, (_, part) => part * hidden + unit);
      if (input === 0) {
        const row = Math.floor(index / gateWidth);
        return elements(index % hidden).map((i) => row * state + i);
      }
      if (input === 2) {
        const row = Math.floor(index / state) * length + (reverse ? length - 1 : 0);
        return Array.from({ length: state }, (_, i) => row * state + i);
      }
      const unit = Math.floor(index / hidden) % hidden;
      return Array.from({ length: batch * length }, (_, row) => row).flatMap((row) =>
        elements(unit).map((i) => row * state + i),
      );
    },
  };
}

// h' = tanh(a)
const rnnOp = scanOp({
  step(a, before, hidden, after) {
    for (let i = 0; i < hidden; i++) after[i] = Math.tanh(a[i]);
  },
  formula: (a, before, hidden, i) => Expression.apply("tanh", a(i)),
});

// a in quarters i f g o, states [h, c]: c' = sigmoid(f) c + sigmoid(i) tanh(g),
// h' = sigmoid(o) tanh(c')
const lstmOp = scanOp({
  step(a, before, hidden, after) {
    for (let i = 0; i < hidden; i++) {
      const input = logisticFunction(a[i]);
      const forget = logisticFunction(a[hidden + i]);
      const output = logisticFunction(a[3 * hidden + i]);
      after[hidden + i] = forget * before[hidden + i] + input * Math.tanh(a[2 * hidden + i]);
      after[i] = output * Math.tanh(after[hidden + i]);
    }
  },
  formula(a, before, hidden, index) {
    const unit = index % hidden;
    /** @type {(part: number, f: string) => Formula} */
    const gate = (part, f) => Expression.apply(f, a(part * hidden + unit));
    const cell = Expression.sum([
      Expression.product([gate(1, "sigmoid"), before(hidden + unit)]),
      Expression.product([gate(0, "sigmoid"), gate(2, "tanh")]),
    ]);
    if (index >= hidden) return cell;
    return Expression.product([gate(3, "sigmoid"), Expression.apply("tanh", cell)]);
  },
});

/** @type {{ [name: string]: OpKind }} */
export const sequenceOps = {
  rotary: rotaryOp(1),
  rotary_backward: rotaryOp(-1),
  rnn: rnnOp,
  lstm: lstmOp,
};
