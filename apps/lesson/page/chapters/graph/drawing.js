// A graph as an SVG drawing: boxes in rows, what is read above what reads it; beside each edge the
// way that the gradient came back.
import { svgElement } from "../../../../report/page/dom.js";
import { layOut } from "./layered_layout.js";

const gaps = { gapX: 12, gapY: 18 };
const margin = 10;
const lane = 5; // from the middle of a bend to each way
const bendWidth = { both: 22, one: 12 };
const stub = { length: 24, apart: 12 };

// boxes: see graph_boxes.js; edges: {from, to, goesBack}; id: of this drawing on the page
export function drawing({ id, boxes, edges, label, scale = 1 }) {
  for (const edge of edges) {
    edge.width = edge.goesBack ? bendWidth.both : bendWidth.one;
    edge.isFirm = edge.goesBack;
  }
  const size = layOut(boxes, edges, gaps);
  const lines = edgeLines(id, boxes, edges);
  const hasStubs = boxes.some(({ stubs }) => stubs > 0);
  const width = size.width + 2 * margin + (hasStubs ? stub.apart : 0);
  const height = size.height + 2 * margin + (hasStubs ? stub.length : 0);
  return svgElement(
    "svg",
    {
      class: "drawing",
      role: "group",
      "aria-label": label,
      width: Math.ceil(width * scale),
      height: Math.ceil(height * scale),
      viewBox: `${-margin} ${-margin} ${width} ${height}`,
    },
    svgElement("defs", {}, arrowHead(id, "forward"), arrowHead(id, "backward")),
    svgElement("g", { "aria-hidden": "true" }, lines),
    boxes.map((box) => box.draw(box)),
  );
}

function arrowHead(id, which) {
  return svgElement(
    "marker",
    {
      id: `${id}-${which}`,
      class: `arrow ${which}`,
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 7,
      markerHeight: 7,
      markerUnits: "userSpaceOnUse",
      orient: "auto",
    },
    svgElement("path", { d: "M0 0.5 7.5 4 0 7.5Z" }),
  );
}

function edgeLines(id, boxes, edges) {
  const boxOf = new Map(boxes.map((box) => [box.id, box]));
  const xAbove = (edge) => edge.bends.at(-1)?.x ?? boxOf.get(edge.from).x;
  const into = new Map(boxes.map((box) => [box.id, []]));
  for (const edge of edges) into.get(edge.to).push(edge);
  for (const list of into.values()) list.sort((a, b) => xAbove(a) - xAbove(b));
  const ends = (edge) => {
    const all = into.get(edge.to);
    const back = all.filter(({ goesBack }) => goesBack);
    return {
      forward: [all.indexOf(edge), all.length],
      backward: [back.indexOf(edge), back.length],
    };
  };
  const way = (which, points, names) => edgeLine(`${id}-${which}`, which, points, names);
  const lines = edges.flatMap((edge) => {
    const upper = boxOf.get(edge.from);
    const lower = boxOf.get(edge.to);
    const at = ends(edge);
    const names = { "data-from": edge.from, "data-to": edge.to };
    const forward = [
      [upper.x + upper.forwardAt(), upper.y + upper.ends.bottom],
      ...bendsOf(edge, edge.goesBack ? -lane : 0),
      [lower.x + lower.forwardAt(...at.forward), lower.y - lower.ends.top],
    ];
    if (!edge.goesBack) return [way("forward", forward, names)];
    const backward = [
      [upper.x + upper.backwardAt(), upper.y + upper.ends.back],
      ...bendsOf(edge, lane),
      [lower.x + lower.backwardAt(...at.backward), lower.y - lower.ends.top],
    ];
    return [way("forward", forward, names), way("backward", backward.toReversed(), names)];
  });
  const stubs = boxes.flatMap((box) =>
    stubsOf(box).map((points) => way("backward", points, { "data-to": box.id })),
  );
  return [...lines, ...stubs];
}

const bendsOf = ({ bends }, offset) =>
  bends.flatMap(({ x, top, bottom }) => [
    [x + offset, top],
    [x + offset, bottom],
  ]);

// Gradients that come from what is not drawn.
function stubsOf(box) {
  return Array.from({ length: box.stubs }, (_, i) => {
    const x = box.x + box.backwardAt();
    const y = box.y + box.ends.back;
    const isBeside = box.ends.back > box.ends.bottom; // of other ways into the sum
    const from = [x + (isBeside ? (i + 1) * stub.apart : 0), y + stub.length];
    return [from, [x, y]];
  });
}

// Leaves and arrives upright.
function edgeLine(arrow, which, points, names) {
  const [[x, y], ...rest] = points;
  let from = [x, y];
  const pieces = rest.map((to) => {
    const middle = (from[1] + to[1]) / 2;
    const piece = `C${from[0]} ${middle} ${to[0]} ${middle} ${to[0]} ${to[1]}`;
    from = to;
    return piece;
  });
  const d = `M${x} ${y}${pieces.join("")}`;
  const end = `url(#${arrow})`;
  return svgElement("path", { class: `edge ${which}`, d, "marker-end": end, ...names });
}
