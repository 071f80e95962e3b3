// What stands in the drawing of a graph: ops and values, forward on the left and the way back on
// the right, as everywhere on the page. A box knows its size before it has a place.
import { svgElement } from "../../../../report/page/dom.js";
import { backwardNames, valueLabel, opTitle } from "./labels.js";
import { total } from "./layered_layout.js";
import { say } from "../../texts/say.js";

const lineHeight = 15;
const valueHeight = 24;
const leastHalf = { op: 50, value: 30 };
const longestLine = 13;
const sumRadius = 6.5;
const letterWidths = { letter: 7, small: 5.6 };
const nearMiddle = 16; // where a single edge comes in or goes out
const keptRadius = 3.5;

// "W_q" and "X_{enc}": what stands on the line, below it, and after.
function piecesOf(symbol) {
  const match = /^([^_]+)_(?:\{([^}]*)\}|(\w))(.*)$/.exec(symbol);
  return match ? [match[1], match[2] ?? match[3], match[4]] : [symbol, "", ""];
}

// Those of Chinese are wider.
const lettersIn = (text) => total([...text].map((letter) => (letter >= "⺀" ? 1.75 : 1)));

function textWidth(symbol) {
  const [base, below, rest] = piecesOf(symbol);
  return lettersIn(base + rest) * letterWidths.letter + below.length * letterWidths.small;
}

// dQ; of what has no symbol, with a space.
const gradientSymbol = ({ symbol, href }) => (href ? `d${symbol}` : `d ${symbol}`);

function symbolElement(symbol, x, y) {
  const [base, below, rest] = piecesOf(symbol);
  const lowered = below ? svgElement("tspan", { class: "below", dy: 3, text: below }) : null;
  const after = rest ? svgElement("tspan", { dy: below ? -3 : 0, text: rest }) : null;
  return svgElement("text", { x, y }, base, lowered, after);
}

function linked({ href, symbol }, properties, ...children) {
  const name = say("graph.link", { symbol: piecesOf(symbol).join("") });
  return href
    ? svgElement("a", { href, "aria-label": name, ...properties }, children)
    : svgElement("g", properties, children);
}

const titled = (text) => svgElement("title", { text });

function keptMark(x, y, ops) {
  const by = ops.map(({ op }) => op).join(", ");
  const text = titled(say("graph.kept_by", { ops: by }));
  return svgElement("circle", { class: "kept", cx: x, cy: y, r: keptRadius }, text);
}

// A value and its gradient side by side.
export function valueBox(app, node) {
  const { value, gradient, attribute, keptBy, addends, arriving } = node;
  const label = attribute ? { symbol: attribute, href: null } : valueLabel(app, value);
  const back = gradient === null ? null : valueLabel(app, gradient, gradientSymbol(label));
  const half = Math.max(leastHalf.value, textWidth(back?.symbol ?? label.symbol) + 14);
  const hasSum = addends.length > 1;
  const width = back ? 2 * half : half;
  const draw = ({ x, y }) => {
    const top = y - valueHeight / 2;
    const left = x - width / 2;
    const side = (which, { href, symbol }, from) =>
      linked(
        { href, symbol },
        { class: which },
        svgElement("rect", { x: from, y: top, width: half, height: valueHeight, rx: 4 }),
        symbolElement(symbol, from + half / 2, y + 4),
      );
    return svgElement(
      "g",
      { class: "value", style: `--family: var(--family-${label.family ?? "x"})`, "data-value": value },
      side("forward", label, left),
      back ? side("backward", back, x) : null,
      keptBy.length > 0 ? keptMark(left, top, keptBy) : null,
      hasSum ? sumMark(x + half / 2, y + valueHeight / 2 + sumRadius, gradient, addends) : null,
    );
  };
  const forward = back ? -half / 2 : 0;
  const below = valueHeight / 2 + (hasSum ? 2 * sumRadius : 0);
  return {
    ...node,
    width,
    height: valueHeight,
    below: hasSum ? 2 * sumRadius : 0,
    draw,
    forwardAt: () => forward,
    backwardAt: () => half / 2,
    ends: { top: valueHeight / 2, bottom: valueHeight / 2, back: below },
    stubs: arriving ?? 0,
  };
}

function sumMark(x, y, gradient, addends) {
  const arm = sumRadius - 3;
  return svgElement(
    "g",
    { class: "sum", "data-gradient": gradient, "data-addends": addends.length },
    titled(say("graph.sum", { count: addends.length })),
    svgElement("circle", { cx: x, cy: y, r: sumRadius }),
    svgElement("path", { d: `M${x - arm} ${y}h${2 * arm}M${x} ${y - arm}v${2 * arm}` }),
  );
}

// An op, its parameters below its name; beside it the ops of its derivative.
export function opBox(app, node, passesOn) {
  const { op, parameters, backward, kept } = node;
  const facts = app.lesson.tape.facts;
  const own = parameters.map(({ value, isKept }) => ({ ...valueLabel(app, value), value, isKept }));
  const back = own
    .filter(({ value }) => typeof facts[value].gradient === "number")
    .map((label) => valueLabel(app, facts[label.value].gradient, gradientSymbol(label)));
  const lines = {
    forward: [opTitle(op), ...(kept.length > 0 ? [`\u2002${kept.join(", ")}`] : [])],
    backward: wrapped(textOfBackward(backward, passesOn)),
  };
  const widths = [...lines.forward, ...lines.backward].map(textWidth);
  const rows = [widthOfRow(own), widthOfRow(back)];
  const half = Math.max(leastHalf.op, ...widths.map((x) => x + 14), ...rows);
  const count = (side, row) => lines[side].length + (row.length > 0 ? 1 : 0);
  const height = Math.max(count("forward", own), count("backward", back)) * lineHeight + 9;
  const draw = ({ x, y }) => {
    const top = y - height / 2;
    const side = (which, row, from) => [
      svgElement("rect", { class: which, x: from, y: top, width: half, height, rx: 4 }),
      lines[which].map((text, i) => {
        const at = { x: from + half / 2, y: top + lineHeight * (i + 1) };
        const isName = i === 0 && which === "forward";
        return svgElement("text", { class: isName ? "name" : null, ...at, text });
      }),
      symbolRow(row, from + half / 2, top + lineHeight * (lines[which].length + 1), which, op),
    ];
    return svgElement(
      "g",
      { class: "op", "data-op": op.id },
      titled([op.scope, op.op].filter(Boolean).join(" ")),
      side("forward", own, x - half).flat(2),
      side("backward", back, x).flat(2),
      kept.length > 0 ? keptMark(x - half + 8, top + 2 * lineHeight - 4, [op]) : null,
    );
  };
  return {
    ...node,
    width: 2 * half,
    height,
    draw,
    ...portsOf(half),
    ends: { top: height / 2, bottom: height / 2, back: height / 2 },
    stubs: 0,
  };
}

// Where edges reach a box, from its middle: forward on its left half, back on the right one.
function portsOf(half) {
  const spread = (i, n) => (n === 1 ? nearMiddle : (half * (i + 1)) / (n + 1));
  return {
    forwardAt: (i = 0, n = 1) => (n === 1 ? -nearMiddle : spread(i, n) - half),
    backwardAt: (i = 0, n = 1) => spread(i, n),
  };
}

function textOfBackward(ops, passesOn) {
  if (ops.length > 0) return backwardNames(ops);
  return [passesOn ? say("graph.passes") : "–"];
}

function wrapped(names) {
  const lines = [];
  for (const name of names) {
    const last = lines.at(-1);
    const joined = `${last} · ${name}`;
    if (last !== undefined && joined.length <= longestLine) lines[lines.length - 1] = joined;
    else lines.push(name);
  }
  return lines;
}

const betweenSymbols = 16;

const widthOfRow = (labels) =>
  4 + total(labels.map(({ symbol }) => textWidth(symbol) + betweenSymbols));

// Symbols side by side around the middle x.
function symbolRow(labels, x, y, which, op) {
  let at = x - (widthOfRow(labels) - 4) / 2;
  return labels.flatMap((label) => {
    const width = textWidth(label.symbol) + betweenSymbols;
    const middle = at + width / 2;
    at += width;
    const name = symbolElement(label.symbol, middle, y);
    const link = linked(label, { class: `parameter ${which}` }, name);
    return label.isKept ? [link, keptMark(middle - width / 2 + 2, y - 4, [op])] : [link];
  });
}
