// Ops that make each element of elements at the same place. Broadcasting is a step of its own on
// the tape, so that all shapes agree.
import { Expression } from "./expression.js";
import { functionsOfOne } from "./functions.js";

// An op is {run, cell, readers} and says how it reads:
//   run({inputs, attributes, shape}) -> Float64Array   inputs and shape: {shape, data} and […]
//   cell(node, index) -> Expression                    node: {inputs, attributes, shape, output}
//   readers(node, input, index) -> indices             of the output, where it reads that element
//   opens: a formula goes on through it to what made its cells; moves: its cells are copies;
//   adds, multiplies: its cells are sums, sums of products
/**
 * @param {OpKind["run"]} run
 * @param {(cells: Formula[], attributes: Attributes) => Formula} formula
 * @returns {OpKind}
 */
function elementwise(run, formula) {
  return {
    opens: true,
    run,
    cell(node, index) {
      const cells = node.inputs.map((input) => Expression.cell(input.value, index));
      return formula(cells, node.attributes);
    },
    readers: (node, input, index) => [index],
  };
}

// f(x, attributes)
/**
 * @param {(x: number, attributes: Attributes) => number} f
 * @param {(x: Formula, attributes: Attributes) => Formula} formula
 */
export function unary(f, formula) {
  return elementwise(
    ({ inputs: [{ data: x }], attributes }) => {
      const y = new Float64Array(x.length);
      for (let i = 0; i < x.length; i++) y[i] = f(x[i], attributes);
      return y;
    },
    ([x], attributes) => formula(x, attributes),
  );
}

// fill(y, a, b) has a loop of its own for each op, which is many times as fast as a call for each
// element.
/**
 * @param {(y: Numbers, a: Numbers, b: Numbers) => void} fill
 * @param {(a: Formula, b: Formula) => Formula} formula
 */
function binary(fill, formula) {
  return elementwise(
    ({ inputs: [{ data: a }, { data: b }] }) => {
      const y = new Float64Array(a.length);
      fill(y, a, b);
      return y;
    },
    ([a, b]) => formula(a, b),
  );
}

/** @param {keyof typeof functionsOfOne} name */
function functionOfOne(name) {
  return unary(functionsOfOne[name], (x) => Expression.apply(name, x));
}

const oneNumber = Expression.number(1);

/** @type {OpKind} */
const power = elementwise(
  ({ inputs: [{ data: a }, b], attributes: { exponent } }) => a.map((x, i) => x ** (b ? b.data[i] : exponent)),
  ([a, b], { exponent }) => Expression.power(a, b ?? Expression.number(exponent)),
);

// x (1 + tanh(u)) / 2, u = sqrt(2 / π) (x + 0.044715 x³)
const geluCubic = 0.044715;
const geluSlope = Math.sqrt(2 / Math.PI);

/** @param {number} x @param {Attributes} options */
function geluOf(x, { tanh }) {
  if (!tanh) return x * functionsOfOne.normalDistribution(x);
  return 0.5 * x * (1 + Math.tanh(geluSlope * (x + geluCubic * x * x * x)));
}

/** @param {Formula} x @param {Attributes} options */
function geluFormula(x, { tanh }) {
  if (!tanh) return Expression.product([x, Expression.apply("normalDistribution", x)]);
  const cube = Expression.product([Expression.number(geluCubic), x, x, x]);
  const u = Expression.product([Expression.number(geluSlope), Expression.sum([x, cube])]);
  const grown = Expression.sum([oneNumber, Expression.apply("tanh", u)]);
  return Expression.product([Expression.number(0.5), x, grown]);
}

// kept ? x / (1 - p) : 0
/** @type {OpKind} */
const droppedOut = {
  opens: true,
  run: ({ inputs: [{ data: x }], attributes: { mask, p } }) =>
    x.map((number, i) => (mask.data[i] ? number / (1 - p) : 0)),
  cell({ inputs: [x], attributes: { mask, p } }, index) {
    if (!mask.data[index]) return Expression.number(0, "dropped");
    return Expression.quotient(Expression.cell(x.value, index), Expression.number(1 - p));
  },
  readers: (node, input, index) => (node.attributes.mask.data[index] ? [index] : []),
};

// mask ? value : x
/** @type {OpKind} */
const maskedFill = {
  opens: true,
  moves: true,
  run({ inputs: [{ data: x }], attributes: { mask, value } }) {
    const y = new Float64Array(x);
    for (let i = 0; i < y.length; i++) if (mask.data[i]) y[i] = value;
    return y;
  },
  cell({ inputs: [x], attributes: { mask, value } }, index) {
    if (mask.data[index]) return Expression.number(value, "masked");
    return Expression.cell(x.value, index);
  },
  readers: (node, input, index) => (node.attributes.mask.data[index] ? [] : [index]),
};

// mask ? a : b
/** @type {OpKind} */
const chosen = {
  opens: true,
  moves: true,
  run: ({ inputs: [{ data: a }, { data: b }], attributes: { mask } }) =>
    a.map((number, i) => (mask.data[i] ? number : b[i])),
  cell: ({ inputs: [a, b], attributes: { mask } }, index) =>
    Expression.cell((mask.data[index] ? a : b).value, index),
  readers: ({ attributes: { mask } }, input, index) =>
    (mask.data[index] ? 0 : 1) === input ? [index] : [],
};

/** @type {{ [name: string]: OpKind }} */
export const elementwiseOps = {
  add: binary(
    (y, a, b) => {
      for (let i = 0; i < y.length; i++) y[i] = a[i] + b[i];
    },
    (a, b) => Expression.sum([a, b]),
  ),
  sub: binary(
    (y, a, b) => {
      for (let i = 0; i < y.length; i++) y[i] = a[i] - b[i];
    },
    (a, b) => Expression.difference(a, b),
  ),
  mul: binary(
    (y, a, b) => {
      for (let i = 0; i < y.length; i++) y[i] = a[i] * b[i];
    },
    (a, b) => Expression.product([a, b]),
  ),
  div: binary(
    (y, a, b) => {
      for (let i = 0; i < y.length; i++) y[i] = a[i] / b[i];
    },
    (a, b) => Expression.quotient(a, b),
  ),
  maximum: binary(
    (y, a, b) => {
      for (let i = 0; i < y.length; i++) y[i] = Math.max(a[i], b[i]);
    },
    (a, b) => Expression.maximum([a, b]),
  ),
  pow: power,
  neg: unary(
    (x) => -x,
    (x) => Expression.negated(x),
  ),
  scale: unary(
    (x, { factor }) => factor * x,
    (x, { factor }) => Expression.product([Expression.number(factor), x]),
  ),
  add_scalar: unary(
    (x, { term }) => x + term,
    (x, { term }) => (term === 0 ? x : Expression.sum([x, Expression.number(term)])),
  ),
  exp: functionOfOne("exp"),
  log: functionOfOne("log"),
  sqrt: functionOfOne("sqrt"),
  tanh: functionOfOne("tanh"),
  erf: functionOfOne("erf"),
  sigmoid: functionOfOne("sigmoid"),
  rsqrt: unary(
    (x) => 1 / Math.sqrt(x),
    (x) => Expression.quotient(oneNumber, Expression.apply("sqrt", x)),
  ),
  relu: unary(
    (x) => (Number.isNaN(x) ? x : Math.max(x, 0)),
    (x) => Expression.maximum([x, Expression.number(0)]),
  ),
  gelu: unary(geluOf, geluFormula),
  silu: unary(
    (x) => x * functionsOfOne.sigmoid(x),
    (x) => Expression.product([x, Expression.apply("sigmoid", x)]),
  ),
  dropout: droppedOut,
  dropout_backward: droppedOut,
  masked_fill: maskedFill,
  where: chosen,
};
