// The graph as rows, what is read above what reads it: ops and values, forward on the left and the way back on the
// right, as everywhere on the page. Arcs lead down on the left to who reads, and up on the right as the gradient came.
import { svgElement } from "../../../../report/page/dom.js";
import { backwardNames, opTitle, valueLabel } from "./labels.js";
import { say } from "../../texts/say.js";

const sizes = { margin: 150, half: 215, row: 24, withParameters: 40, gap: 8, line: 15, sum: 6.5, kept: 3.5, nearest: 14, each: 5 };
const sides = { forward: sizes.margin, backward: sizes.margin + sizes.half, end: sizes.margin + 2 * sizes.half };

// nodes and edges: see drawn_graph.js
export function drawnRows(app, { nodes, edges }, label) {
  const inOrder = sorted(nodes, edges, app.lesson.tape.program);
  const rows = new Map();
  let top = 2;
  inOrder.forEach((node, at) => {
    const height = node.parameters?.length > 0 ? sizes.withParameters : sizes.row;
    rows.set(node.id, { at, top, height, y: top + height / 2 });
    top += height + sizes.gap;
  });
  const passesOn = (id) => edges.some(({ to, goesBack }) => to === id && goesBack);
  const boxes = inOrder.map((node) => (node.op ? opRow(app, node, rows.get(node.id), passesOn(node.id)) : valueRow(app, node, rows.get(node.id))));
  const width = 2 * sizes.margin + 2 * sizes.half;
  const scale = app.isPresenting ? 1.25 : 1;
  return svgElement(
    "svg",
    { class: "drawing", role: "group", "aria-label": label, width: width * scale, height: top * scale, viewBox: `0 0 ${width} ${top}` },
    svgElement("g", { "aria-hidden": "true" }, edges.flatMap((edge) => arcsOfEdge(edge, rows)), inOrder.flatMap((node) => waysFromElsewhere(node, rows))),
    boxes,
  );
}

// A value stands after the op that made it; what no op here made, before its first reader.
function sorted(nodes, edges, { order, makers }) {
  const nodeOf = new Map(nodes.map((node) => [node.id, node]));
  const made = new Set(edges.map(({ to }) => to));
  const place = ({ id, op, value }) => {
    if (op) return order.indexOf(op.id);
    if (made.has(id)) return order.indexOf(makers[value].id) + 0.5;
    const readers = edges.filter(({ from }) => from === id).map(({ to }) => place(nodeOf.get(to)));
    return Math.min(...readers) - 0.25;
  };
  const places = new Map(nodes.map((node) => [node, place(node)]));
  return nodes.toSorted((a, b) => places.get(a) - places.get(b));
}

function arcsOfEdge({ from, to, goesBack }, rows) {
  const [upper, lower] = [rows.get(from), rows.get(to)];
  const out = Math.min(sizes.margin - 6, sizes.nearest + sizes.each * (lower.at - upper.at));
  const names = { "data-from": from, "data-to": to };
  const arc = (way, x, by, [start, end]) => {
    const back = x + 7 * Math.sign(by);
    const head = `M${back} ${end - 4}L${x} ${end}L${back} ${end + 4}`;
    return svgElement("path", { class: `edge ${way}`, d: `M${x} ${start}C${x + by} ${start} ${x + by} ${end} ${x} ${end}${head}`, ...names });
  };
  const forward = arc("forward", sides.forward, -out, [upper.y + 4, lower.y - 4]);
  return goesBack ? [forward, arc("backward", sides.end, out, [lower.y - 4, upper.y + 4])] : [forward];
}

// Gradients that come from what is not drawn.
const waysFromElsewhere = ({ id, arriving = 0 }, rows) =>
  Array.from({ length: arriving }, (_, i) =>
    svgElement("path", { class: "edge backward", d: `M${sides.end + 60} ${rows.get(id).y + 6 * i}H${sides.end + 4}`, "data-to": id }),
  );

// "W_q" and "X_{enc}": with what stands below the line.
function symbolElement(symbol, x, y) {
  const [, base, below, rest] = /^([^_]+)(?:_(\{[^}]*\}|\w))?(.*)$/.exec(symbol) ?? ["", symbol, "", ""];
  const lowered = below ? svgElement("tspan", { class: "below", dy: 3, text: below.replace(/[{}]/g, "") }) : null;
  return svgElement("text", { x, y }, base, lowered, rest ? svgElement("tspan", { dy: below ? -3 : 0, text: rest }) : null);
}

const titled = (text) => svgElement("title", { text });

const rect = (className, x, { top, height }) => svgElement("rect", { class: className, x, y: top, width: sizes.half, height, rx: 4 });

function keptMark(x, y, ops) {
  const text = titled(say("graph.kept_by", { ops: ops.map(({ op }) => op).join(", ") }));
  return svgElement("circle", { class: "kept", cx: x, cy: y, r: sizes.kept }, text);
}

// dQ; of what has no symbol, with a space.
const gradientSymbol = ({ symbol, href }) => (href ? `d${symbol}` : `d ${symbol}`);

function linked({ href, symbol }, properties, ...children) {
  const name = say("graph.link", { symbol: symbol.replace(/[_{}]/g, "") }); // as it is seen
  return href ? svgElement("a", { href, "aria-label": name, ...properties }, children) : svgElement("g", properties, children);
}

const middle = (x) => x + sizes.half / 2;

// A value and its gradient side by side.
function valueRow(app, { value, gradient, attribute, keptBy, addends }, row) {
  const label = attribute ? { symbol: attribute, href: null } : valueLabel(app, value);
  const back = gradient === null ? null : valueLabel(app, gradient, gradientSymbol(label));
  const side = (way, { href, symbol }, x) =>
    linked({ href, symbol }, { class: way }, rect(null, x, row), symbolElement(symbol, middle(x), row.y + 4));
  return svgElement(
    "g",
    { class: "value", style: `--family: var(--family-${label.family ?? "x"})`, "data-value": value },
    side("forward", label, sides.forward),
    back ? side("backward", back, sides.backward) : null,
    keptBy.length > 0 ? keptMark(sides.forward + 12, row.y, keptBy) : null,
    addends.length > 1 ? sumMark(sides.end - 14, row.y, gradient, addends) : null,
  );
}

function sumMark(x, y, gradient, addends) {
  const arm = sizes.sum - 3;
  return svgElement(
    "g",
    { class: "sum", "data-gradient": gradient, "data-addends": addends.length },
    titled(say("graph.sum", { count: addends.length })),
    svgElement("circle", { cx: x, cy: y, r: sizes.sum }),
    svgElement("path", { d: `M${x - arm} ${y}h${2 * arm}M${x} ${y - arm}v${2 * arm}` }),
  );
}

// An op, with its parameters; beside it the ops of its derivative.
function opRow(app, { op, parameters, backward, kept }, row, passesOn) {
  const { facts } = app.lesson.tape;
  const own = parameters.map(({ value, isKept }) => ({ ...valueLabel(app, value), value, isKept }));
  const back = own
    .filter(({ value }) => typeof facts[value].gradient === "number")
    .map((label) => valueLabel(app, facts[label.value].gradient, gradientSymbol(label)));
  const names = backward.length > 0 ? backwardNames(backward).join(" · ") : passesOn ? say("graph.passes") : "–";
  const text = (x, line, content, className = null) =>
    svgElement("text", { class: className, x: middle(x), y: row.top + sizes.line * line + 1, text: content });
  return svgElement(
    "g",
    { class: "op", "data-op": op.id },
    titled([op.scope, op.op].filter(Boolean).join(" ")),
    rect("forward", sides.forward, row),
    rect("backward", sides.backward, row),
    text(sides.forward, 1, [opTitle(op), ...kept].join(", "), "name"),
    text(sides.backward, 1, names),
    symbolsOf(own, sides.forward, row, op),
    symbolsOf(back, sides.backward, row, op),
    kept.length > 0 ? keptMark(sides.forward + 12, row.top + sizes.line - 4, [op]) : null,
  );
}

// Symbols side by side.
function symbolsOf(labels, x, { top }, op) {
  const width = sizes.half / Math.max(1, labels.length);
  return labels.flatMap((label, i) => {
    const at = { x: x + width * (i + 0.5), y: top + 2 * sizes.line + 1 };
    const link = linked(label, { class: "parameter" }, symbolElement(label.symbol, at.x, at.y));
    return label.isKept ? [link, keptMark(at.x - 30, at.y - 4, [op])] : [link];
  });
}
