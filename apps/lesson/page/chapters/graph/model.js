// The whole model as a drawing: the blocks and what is around them, in the order of the tape.
import { element, svgElement } from "../../../../report/page/dom.js";
import { portsOf } from "./boxes.js";
import { drawing } from "./drawing.js";
import { isCopy } from "./drawn_graph.js";
import { say } from "../../texts/say.js";

const lineOfText = 15;
const letterWidth = 6.8;

// "encoder.blocks.1" of "encoder.blocks.1.attention.query".
const blockOf = (scope) => /^(.*?blocks\.\d+|[^.]*)/.exec(scope)[1];

export function modelDrawing(app) {
  const { program } = app.lesson.tape;
  const groups = blocksOf(program);
  const boxes = groups.map((group) => groupBox(app, group));
  const edges = edgesBetween(program, groups);
  const drawn = drawing({ id: "model", boxes, edges, label: say("graph.model_drawn") });
  return element("div", { class: "drawn-model" }, drawn);
}

// Neighbours of one block together: {id, name, ops}.
function blocksOf(program) {
  const groups = [];
  for (const id of program.order) {
    const op = program.ops[id];
    if (op.backward) continue;
    const name = blockOf(op.scope ?? "");
    const last = groups.at(-1);
    if (last?.name === name) last.ops.push(op);
    else groups.push({ id: `group ${groups.length}`, name, ops: [op] });
  }
  return groups;
}

// Who reads what another made; a gradient comes back where something before is learned.
function edgesBetween(program, groups) {
  const learned = valuesOfParameters(program);
  const groupOf = new Map(groups.flatMap(({ id, ops }) => ops.map((op) => [op.output, id])));
  const edges = new Map();
  for (const { id, ops } of groups) {
    for (const op of ops) {
      for (const value of op.reads) {
        const from = groupOf.get(value);
        if (from === undefined || from === id) continue;
        const goesBack = learned[value] === 1;
        const key = `${from} ${id}`;
        const edge = edges.get(key) ?? { from, to: id, goesBack: false };
        edges.set(key, { ...edge, goesBack: edge.goesBack || goesBack });
      }
    }
  }
  return [...edges.values()];
}

// Marks what a parameter had a part in.
function valuesOfParameters({ facts, ops, order }) {
  const learned = Uint8Array.from(facts, ({ kind }) => (kind === "parameter" ? 1 : 0));
  for (const id of order) {
    const op = ops[id];
    if (!op.backward && op.inputs.some((value) => learned[value])) learned[op.output] = 1;
  }
  return learned;
}

// What is in a block, each once: [{text, path}]; of what has no name, its ops.
function partsOfBlock({ name, ops }) {
  const telling = ops.filter((op) => !isCopy(op));
  if (!name) return [...new Set(telling.map(({ op }) => op))].map((text) => ({ text, path: null }));
  const own = ops.map(({ scope }) => scope.slice(name.length + 1).split(".")[0]).filter(Boolean);
  return [...new Set(own)].map((text) => ({ text, path: `${name}.${text}` }));
}

function groupBox(app, group) {
  const { state, layers } = app.lesson;
  const parts = partsOfBlock(group);
  const texts = [...(group.name ? [group.name] : []), ...parts.map(({ text }) => text)];
  const width = Math.max(...texts.map((text) => text.length * letterWidth)) + 20;
  const height = texts.length * lineOfText + 10;
  const part = ({ text, path }, at) => {
    const words = svgElement("text", { ...at, text });
    if (!layers.includes(path)) return words;
    const href = app.addressOf({ layer: path, cell: null });
    const isOpen = path === state.layer;
    return svgElement("a", { href, "aria-current": isOpen ? "true" : null }, words);
  };
  const draw = ({ x, y }) => {
    const top = y - height / 2;
    const lineAt = (i) => ({ x, y: top + lineOfText * (i + 1) });
    return svgElement(
      "g",
      { class: "block", "data-block": group.name },
      svgElement("rect", { x: x - width / 2, y: top, width, height, rx: 4 }),
      group.name ? svgElement("text", { class: "name", ...lineAt(0), text: group.name }) : null,
      parts.map((each, i) => part(each, lineAt(i + texts.length - parts.length))),
    );
  };
  return {
    id: group.id,
    width,
    height,
    draw,
    ...portsOf(width / 2),
    ends: { top: height / 2, bottom: height / 2, back: height / 2 },
    stubs: 0,
  };
}
