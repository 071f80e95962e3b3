// Where a head is two numbers wide: queries and keys as arrows in the plane. The score is the inner product, the
// pull on the query is −dQ. The tips can be moved, and every number follows.
import { foldedDrawing, followPointer } from "../frame/elements.js";
import { element, svgElement } from "../../../report/page/dom.js";
import { shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

const plane = { size: 230, inset: 22 };
const stepsOfKeys = 20; // from the middle to the edge

// {root, show()}, or null where a head is wider, or a number is hidden.
export function geometryOf(app) {
  const { lesson } = app;
  if (lesson.covered || lesson.anatomy.shape(lesson.layer.q)[3] !== 2) return null;
  return foldedDrawing("geometry", say("geometry.title"), () => contentsOf(app));
}

function contentsOf(app) {
  const { lesson } = app;
  const [queries, keys] = lesson.matrices().map(({ forward }) => forward);
  const slopes = lesson.matrices()[0].backward;
  const { rows } = queries.grid;
  const chosen = chosenPair(lesson, rows);
  const arrows = [
    ...Array.from({ length: rows }, (_, row) => arrowOf("query", row, lesson.chapters.queries[row], (c) => [queries, row, c])),
    ...Array.from({ length: keys.grid.columns }, (_, key) => arrowOf("key", key, lesson.chapters.keys[key], (c) => [keys, c, key])),
  ];
  const query = arrows[chosen.query];
  const pull = slopes ? [0, 1].map((c) => -slopes.number(chosen.query, c)) : [0, 0];
  const numbers = [...arrows.flatMap(({ tip }) => tip), ...query.tip.map((x, c) => x + pull[c])];
  if (!numbers.every(Number.isFinite)) return [];
  const reach = Math.max(...numbers.map(Math.abs)) || 1;
  return [
    drawnPlane(app, { arrows, query, pull, key: arrows[rows + chosen.key], reach }),
    element("p", {}, toldOfPair(query, arrows[rows + chosen.key])),
  ];
}

// Row and column of Z, where a cell of it is chosen; of Q or K one of them.
function chosenPair({ state }, rows) {
  const { key = "", row = rows - 1, column = rows - 1 } = state.cell ?? {};
  const of = { Z: [row, column], dZ: [row, column], Q: [row, row], dQ: [row, row], Kt: [rows - 1, column], dKt: [rows - 1, column] };
  const [query, chosen] = of[key] ?? [rows - 1, rows - 1];
  return { query, key: chosen };
}

function arrowOf(kind, at, name, cellOf) {
  const cells = [0, 1].map((c) => {
    const [matrix, row, column] = cellOf(c);
    return { value: matrix.value, index: matrix.index(row, column), number: matrix.number(row, column) };
  });
  return { kind, at, name: name ?? String(at), cells, tip: cells.map(({ number }) => number) };
}

function toldOfPair(query, key) {
  const product = query.tip[0] * key.tip[0] + query.tip[1] * key.tip[1];
  const length = Math.hypot(...key.tip);
  return say("geometry.told", {
    query: query.name,
    key: key.name,
    product: shortNumber(product),
    length: shortNumber(length),
    projection: shortNumber(length > 0 ? product / length : 0),
  });
}

function drawnPlane(app, { arrows, query, key, pull, reach }) {
  const { size: side, inset } = plane;
  const scale = (side / 2 - inset) / reach;
  const at = ([x, y]) => [side / 2 + x * scale, side / 2 - y * scale];
  const line = (className, from, to) => {
    const [[x1, y1], [x2, y2]] = [at(from), at(to)];
    return svgElement("line", { class: className, x1, y1, x2, y2 });
  };
  const square = key.tip[0] ** 2 + key.tip[1] ** 2;
  const along = square > 0 ? (query.tip[0] * key.tip[0] + query.tip[1] * key.tip[1]) / square : 0;
  const foot = key.tip.map((x) => along * x);
  const pulled = query.tip.map((x, c) => x + pull[c]);
  const svg = svgElement(
    "svg",
    { viewBox: `0 0 ${side} ${side}`, role: "group", "aria-label": say("geometry.title") },
    line("axis", [-reach, 0], [reach, 0]),
    line("axis", [0, -reach], [0, reach]),
    line("foot", query.tip, foot),
    arrows.map((arrow) => {
      const isChosen = arrow === query || arrow === key;
      const [cx, cy] = at(arrow.tip);
      const tip = svgElement("circle", {
        cx,
        cy,
        r: isChosen ? 6 : 4,
        tabindex: 0,
        role: "button",
        "aria-label": say("geometry.tip", { name: arrow.name, kind: say(`geometry.${arrow.kind}`) }),
      });
      listen(app, tip, arrow, { svg: () => svg, scale, reach });
      return svgElement(
        "g",
        { class: `${arrow.kind}${isChosen ? " chosen" : ""}` },
        line("arrow", [0, 0], arrow.tip),
        tip,
        svgElement("text", { x: cx + 8, y: cy - 5, text: arrow.name }),
      );
    }),
    line("pull", query.tip, pulled),
  );
  return svg;
}

// Dragging, and arrow keys.
function listen(app, tip, { cells }, { svg, scale, reach }) {
  const moveTo = (numbers) => app.edit(cells.map(({ value, index }, c) => ({ value, index, number: numbers[c] })));
  tip.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    const box = svg().getBoundingClientRect();
    const unit = (plane.size / box.width) / scale;
    const middle = [box.left + box.width / 2, box.top + box.height / 2];
    const drag = ({ clientX, clientY }) =>
      moveTo([(clientX - middle[0]) * unit, (middle[1] - clientY) * unit].map((x) => Number(x.toPrecision(3))));
    followPointer(drag);
  });
  tip.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    moveTo(cells.map(({ number }, c) => (by[c] === 0 ? number : Number((number + (by[c] * reach) / stepsOfKeys).toPrecision(6)))));
  });
}
