// The arithmetic of a cell as a line: with names, or with the numbers put in. Long sums begin with their
// largest terms, are folded, and open on demand; each operand leads to its cell.
import { buttonElement, operandElement } from "../frame/elements.js";
import { element } from "../../../report/page/dom.js";
import { fullNumber, shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

const mostTerms = 5;
const shownFirst = 2;

const bindingStrength = { sum: 1, difference: 1, negated: 2, product: 3, quotient: 3, power: 4 };
const strengthOf = ({ kind }) => bindingStrength[kind] ?? 5;

// mode: "names" or "numbers"
export function arithmeticLine(app, expression, mode, chosen = (value, index) => app.goToCell(value, index)) {
  const { lesson } = app;
  const opened = new Set();
  const line = element("div", { class: `arithmetic ${mode}` });
  const draw = () => line.replaceChildren(...written(expression));

  const numberText = (number) => (number < 0 ? `(${shortNumber(number)})` : shortNumber(number));

  const operand = ({ value, index }) => {
    const name = lesson.name(value, index);
    const number = lesson.tape.number(value, index);
    const isHidden = lesson.isHidden(value, index);
    const shown = isHidden ? "?" : numberText(number);
    return operandElement(app, mode === "names" ? name : shown, [{ value, index }], () => chosen(value, index), {
      title: `${name} = ${isHidden ? "?" : fullNumber(number)}`,
      "data-value": value,
      "data-index": index,
    });
  };

  const unfold = (part, text, title) =>
    buttonElement(
      text,
      () => {
        opened.add(part);
        draw();
      },
      { class: "unfold", title },
    );

  const within = (part, outer) =>
    strengthOf(part) <= outer ? ["(", ...written(part), ")"] : written(part);

  const sizeOfTerm = (part) => Math.abs(lesson.evaluate(part));
  const largestFirst = (terms) =>
    terms
      .map((term) => ({ term, size: sizeOfTerm(term) }))
      .sort((a, b) => b.size - a.size)
      .map(({ term }) => term);

  // How large a term is beside the largest.
  const bar = (term, largest) => {
    const share = sizeOfTerm(term) / (sizeOfTerm(largest) || 1);
    const drawn = element("i", { class: "term-bar", "aria-hidden": "true" });
    drawn.style.width = `${Math.round(28 * share)}px`;
    return drawn;
  };

  const joined = (part, sign, outer) => {
    const isLongSum = part.kind === "sum" && part.of.length > mostTerms;
    const of = isLongSum ? largestFirst(part.of) : part.of;
    const each = (x) => (isLongSum ? [...within(x, outer), bar(x, of[0])] : within(x, outer));
    if (of.length <= mostTerms || opened.has(part)) return between(of.map(each), sign);
    const left = of.length - shownFirst - 1;
    const more = unfold(part, `… ${left} …`, say("cell.terms_more", { count: left, all: of.length }));
    const first = of.slice(0, shownFirst).map(each);
    return between([...first, [more], each(of[of.length - 1])], sign);
  };

  // What no matrix shows opens in its place.
  const cellWritten = (part) => {
    const { value, index } = part;
    if (!lesson.anatomy.symbols.has(value) || lesson.locate(value, index)) return [operand(part)];
    if (opened.has(part)) return ["(", ...written(lesson.expressionOf(value, index)), ")"];
    const number = lesson.tape.number(value, index);
    const name = lesson.name(value, index);
    return [unfold(part, mode === "names" ? name : numberText(number), `${name} = ${number}`)];
  };

  const writers = {
    cell: (part) => cellWritten(part),
    number: (part) => [shortNumber(part.number)],
    sum: (part) => joined(part, " + ", 0),
    product: (part) => joined(part, " × ", 2),
    maximum: (part) => ["max(", ...joined(part, ", ", 0), ")"],
    difference: ({ of }) => [...within(of[0], 0), " − ", ...within(of[1], 1)],
    quotient: ({ of }) => [...within(of[0], 2), " / ", ...within(of[1], 3)],
    power: ({ of }) => [...within(of[0], 4), " ^ ", ...within(of[1], 4)],
    negated: ({ of }) => ["−", ...within(of[0], 2)],
  };

  const written = (part) => {
    const isQuantity = part.what && part !== expression && !opened.has(part) && part.of;
    if (isQuantity) {
      const number = lesson.evaluate(part);
      const text = mode === "names" ? say(`quantity.${part.what}`) : shortNumber(number);
      return [unfold(part, text, `${say(`quantity.${part.what}`)} = ${fullNumber(number)}`)];
    }
    const write = writers[part.kind];
    if (write) return write(part);
    const name = part.kind === "normalDistribution" ? "Φ" : part.kind;
    return [`${name}(`, ...written(part.of[0]), ")"];
  };

  draw();
  return line;
}

function between(parts, sign) {
  return parts.flatMap((part, i) => (i === 0 ? part : [sign, ...part]));
}

// The whole arithmetic with all digits, to be read by a machine: 0.1234… * (0.5… - 0.25…). numberAt
// gives null for what is hidden.
export function arithmeticText(expression, numberAt) {
  const number = (x) => fullNumber(x).replace("−", "-").replace("∞", "Infinity");
  const signed = (x) => (x < 0 || Object.is(x, -0) ? `(${number(x)})` : number(x));
  const cell = (x) => (x === null ? "?" : signed(x));
  const wrapped = (part, outer) => (strengthOf(part) <= outer ? `(${text(part)})` : text(part));
  const text = (part) => {
    const { kind, of } = part;
    if (kind === "cell") return cell(numberAt(part.value, part.index));
    if (kind === "number") return signed(part.number);
    if (kind === "sum") return of.map((each) => wrapped(each, 0)).join(" + ");
    if (kind === "product") return of.map((each) => wrapped(each, 2)).join(" * ");
    if (kind === "difference") return `${wrapped(of[0], 0)} - ${wrapped(of[1], 1)}`;
    if (kind === "quotient") return `${wrapped(of[0], 2)} / ${wrapped(of[1], 3)}`;
    if (kind === "power") return `${wrapped(of[0], 4)} ** ${wrapped(of[1], 4)}`;
    if (kind === "negated") return `-${wrapped(of[0], 2)}`;
    return `${kind === "maximum" ? "max" : kind}(${of.map(text).join(", ")})`;
  };
  return text(expression);
}
