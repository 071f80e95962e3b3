// Who gives how much to one query: lines from the query to the keys, as thick as their shares, and beside each the
// wish of the loss, −dP; of two heads side by side.
import { foldedDrawing, selectElement } from "../frame/elements.js";
import { element, svgElement } from "../../../report/page/dom.js";
import { shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

const mostTokens = 24;
const heightOfName = 20;
const panel = { width: 300, left: 92, right: 208, thickest: 12 };

// {root, show()}, or null for long sequences, and where a number is hidden.
export function arcsOf(app) {
  const { lesson } = app;
  const { queries, keys } = lesson.chapters;
  if (lesson.covered || Math.max(queries.length, keys.length) > mostTokens || keys.length === 0) return null;
  const drawing = foldedDrawing("arcs", say("arcs.title"), () => panelsOf(app, () => drawing.show()));
  return drawing;
}

function panelsOf(app, again) {
  const { lesson } = app;
  const query = queryNow(lesson);
  const heads = [lesson.state.head];
  if (lesson.heads > 1) heads.push(otherHead(lesson));
  return [
    ...heads.map((head, i) => panelOf(app, { head, query, choice: i === 1 ? headSelect(lesson, again) : null })),
    element("p", {}, say("arcs.how", { query: lesson.chapters.queries[query] })),
  ];
}

// The row of the chosen cell, where its rows are queries; or the last.
function queryNow({ state, chapters }) {
  const last = chapters.queries.length - 1;
  const isOfQueries = ["P", "dP", "O", "dO"].includes(state.cell?.key);
  return Math.min(isOfQueries ? state.cell.row : last, last);
}

const otherHead = ({ state, heads, comparedHead }) =>
  comparedHead !== undefined && comparedHead < heads && comparedHead !== state.head ? comparedHead : (state.head + 1) % heads;

function headSelect(lesson, again) {
  const others = Array.from({ length: lesson.heads }, (_, head) => head).filter((head) => head !== lesson.state.head);
  const options = others.map((head) => [head, `${say("head.title")} ${head}`]);
  const change = (head) => {
    lesson.comparedHead = Number(head);
    again();
  };
  return selectElement(options, otherHead(lesson), change, { "aria-label": say("arcs.other") });
}

// P and −dP of one query and head.
function sharesAndWishes(lesson, head, query) {
  const { weights } = lesson.layer;
  const gradient = lesson.anatomy.gradient(weights);
  const wishes = gradient === undefined ? null : lesson.rowOfHead(gradient, query, head);
  return Array.from(lesson.rowOfHead(weights, query, head), (share, j) => ({ share, wish: wishes ? -wishes[j] : 0 }));
}

function panelOf(app, { head, query, choice }) {
  const { lesson } = app;
  const { queries, keys } = lesson.chapters;
  const row = sharesAndWishes(lesson, head, query);
  const largest = Math.max(...row.map(({ wish }) => Math.abs(wish))) || 1;
  const y = (i) => heightOfName * (i + 0.7);
  const height = heightOfName * Math.max(queries.length, keys.length) + 4;
  const curve = (className, to, width, shift) => {
    const [from, end] = [y(query) + shift, y(to) + shift];
    const middle = (panel.left + panel.right) / 2;
    return svgElement("path", {
      class: className,
      d: `M ${panel.left} ${from} C ${middle} ${from}, ${middle} ${end}, ${panel.right} ${end}`,
      "stroke-width": Math.max(0.4, width),
    });
  };
  const lines = row.flatMap(({ share, wish }, j) => {
    if (share === 0) return [];
    const wishes = curve(wish > 0 ? "more" : "less", j, (0.5 * panel.thickest * Math.abs(wish)) / largest, 5);
    return [curve("share", j, panel.thickest * share, 0), wishes];
  });
  const names = [
    ...queries.map((name, i) => queryName(app, { name, i, isChosen: i === query, y: y(i) })),
    ...keys.map((name, j) =>
      svgElement("text", { x: panel.right + 8, y: y(j) + 4 }, `${name}  `, svgElement("tspan", { text: shortNumber(row[j].share) })),
    ),
  ];
  const label = say("arcs.label", { query: queries[query], head, shares: row.map(({ share }, j) => `${keys[j]} ${shortNumber(share)}`).join(", ") });
  return element(
    "figure",
    {},
    element("figcaption", {}, choice ?? `${say("head.title")} ${head}`),
    svgElement("svg", { viewBox: `0 0 ${panel.width} ${height}`, width: panel.width, height, role: "group", "aria-label": label }, lines, names),
  );
}

function queryName(app, { name, i, isChosen, y }) {
  const choose = () => app.select({ key: "P", row: i, column: app.lesson.state.cell?.column ?? 0 });
  return svgElement("text", {
    x: panel.left - 8,
    y: y + 4,
    class: `query${isChosen ? " chosen" : ""}`,
    role: "button",
    tabindex: 0,
    "aria-label": say("arcs.choose", { name, at: i }),
    text: name,
    on: {
      click: choose,
      keydown: (event) => {
        if (event.key === "Enter") choose();
      },
    },
  });
}
