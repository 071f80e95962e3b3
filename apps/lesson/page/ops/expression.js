// What made a cell, as a formula of other cells. An expression is one of
//   {kind: "cell", value, index}                the number of a value of the tape, at a flat index
//   {kind: "number", number}
//   {kind: "sum" | "product" | "maximum", of: [...]}
//   {kind: "difference" | "quotient" | "power", of: [a, b]}
//   {kind: "negated", of: [a]}, or the name of a function of one: {kind: "exp", of: [a]}
// `what` says, where it is there, what people call it: {kind: "quotient", …, what: "mean"}.
import { functionsOfOne } from "./functions.js";
import { shortNumber } from "./numbers.js";

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

// How tightly a kind binds its parts, for brackets.
/** @type {{ [kind: string]: number }} */
const bindings = { sum: 1, difference: 1, negated: 2, product: 3, quotient: 3, power: 4 };
/** @param {Formula} expression */
const bindingOf = (expression) => bindings[expression.kind] ?? 5;
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

  // One line of text; nameOf(value, index) is how a cell is called. Of a long sum, its ends.
  text(expression, nameOf, { mostTerms = 6 } = {}) {
    /**
     * @param {Formula[]} parts
     * @param {(part: Formula) => string} writePart
     * @param {string} sign
     */
    const joined = (parts, writePart, sign) => {
      if (parts.length <= mostTerms) return parts.map(writePart).join(sign);
      const first = parts.slice(0, mostTerms - 2).map(writePart);
      return [...first, "…", writePart(parts[parts.length - 1])].join(sign);
    };
    /** @type {(part: Formula, outer: number) => string} */
    const within = (part, outer) => {
      const text = write(part);
      return bindingOf(part) <= outer ? `(${text})` : text;
    };
    /** @type {(part: Formula) => string} */
    const write = (part) => {
      const { kind, of } = part;
      if (kind === "cell") return nameOf(part.value, part.index);
      if (kind === "number") return shortNumber(part.number);
      if (kind === "sum") return joined(of, (each) => within(each, 0), " + ");
      if (kind === "product") return joined(of, (each) => within(each, 2), " × ");
      if (kind === "difference") return `${within(of[0], 0)} − ${within(of[1], 1)}`;
      if (kind === "quotient") return `${within(of[0], 2)} / ${within(of[1], 3)}`;
      if (kind === "power") return `${within(of[0], 4)} ^ ${within(of[1], 4)}`;
      if (kind === "negated") return `−${within(of[0], 2)}`;
      if (kind === "maximum") return `max(${joined(of, write, ", ")})`;
      return `${kind === "normalDistribution" ? "Φ" : kind}(${write(of[0])})`;
    };
    return write(expression);
  },
};
