// What made a cell, as a formula of other cells. An expression is one of
//   {kind: "cell", value, index}                the number of a value of the tape, at a flat index
//   {kind: "number", number}
//   {kind: "sum" | "product" | "maximum", of: [...]}
//   {kind: "difference" | "quotient" | "power", of: [a, b]}
//   {kind: "negated", of: [a]}, or the name of a function of one: {kind: "exp", of: [a]}
// `what` says, where it is there, what people call it: {kind: "quotient", …, what: "mean"}.
import { functionsOfOne } from "./functions.js";

/** @type {(formula: Formula, what?: string) => Formula} */
const named = (expression, what) => (what === undefined ? expression : { ...expression, what });

/** @type {{ [kind: string]: (numbers: number[]) => number }} */
const arithmetic = {
  sum: (numbers) => numbers.reduce((total, x) => total + x, 0),
  product: (numbers) => numbers.reduce((total, x) => total * x, 1),
  maximum: (numbers) => numbers.reduce((largest, x) => Math.max(largest, x), -Infinity),
  difference: ([a, b]) => a - b,
  quotient: ([a, b]) => a / b,
  power: ([a, b]) => a ** b,
  negated: ([a]) => -a,
};

/** @param {string} kind @param {number[]} numbers */
function applied(kind, numbers) {
  const f = arithmetic[kind];
  return f ? f(numbers) : functionsOfOne[/** @type {keyof typeof functionsOfOne} */ (kind)](numbers[0]);
}

/** @type {Formulas} */
export const Expression = {
  cell: (value, index) => ({ kind: "cell", value, index }),
  number: (number, what) => named({ kind: "number", number }, what),
  sum: (of, what) => named({ kind: "sum", of }, what),
  product: (of, what) => named({ kind: "product", of }, what),
  maximum: (of, what) => named({ kind: "maximum", of }, what),
  difference: (a, b, what) => named({ kind: "difference", of: [a, b] }, what),
  quotient: (a, b, what) => named({ kind: "quotient", of: [a, b] }, what),
  power: (a, b, what) => named({ kind: "power", of: [a, b] }, what),
  negated: (a) => ({ kind: "negated", of: [a] }),
  apply: (name, a, what) => named({ kind: name, of: [a] }, what),

  // Its number, where numberAt(value, index) is that of a cell.
  evaluate(expression, numberAt) {
    const known = new Map(); // a part that stands in several places is computed once
    /** @param {Formula} part */
    const numberOf = (part) => {
      if (part.kind === "cell") return numberAt(part.value, part.index);
      if (part.kind === "number") return part.number;
      if (!known.has(part)) known.set(part, applied(part.kind, part.of.map(numberOf)));
      return known.get(part);
    };
    return numberOf(expression);
  },

  // The same with another expression in the place of each cell.
  withCells(expression, replacement) {
    const known = new Map();
    /** @type {(part: Formula) => Formula} */
    const replaced = (part) => {
      if (part.kind === "number") return part;
      if (known.has(part)) return known.get(part);
      const result =
        part.kind === "cell" ? replacement(part) : { ...part, of: part.of.map(replaced) };
      known.set(part, result);
      return result;
    };
    return replaced(expression);
  },

  // Each cell that it reads, once.
  cellsOf(expression) {
    const cells = new Map();
    const seen = new Set();
    /** @param {Formula} part */
    const visit = (part) => {
      if (seen.has(part)) return;
      seen.add(part);
      if (part.kind === "cell") cells.set(`${part.value}:${part.index}`, part);
      for (const each of part.of ?? []) visit(each);
    };
    visit(expression);
    return [...cells.values()];
  },
};
