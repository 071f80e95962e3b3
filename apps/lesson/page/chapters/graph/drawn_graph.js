// The graph of some ops of a tape: a node for each op that computes something, one for each value
// between them; what only moves numbers is in the edges. And which way the gradients came back.
import { addendsOf, gradientOfValue } from "../../tape/layers.js";

const copies = ["reshape", "permute", "broadcast_to"];

// It only moves numbers.
export const isCopy = ({ op }) => copies.includes(op);

// What helps to compute the derivative of a forward op; copies only where there is nothing else.
export function tellingOps(ops) {
  const telling = ops.filter((op) => !isCopy(op));
  return telling.length > 0 ? telling : ops.slice(-1);
}

// isShown(value): whether the page shows it; gradientOf(value): a value, or undefined.
// nodes: {id, op, parameters, backward, kept} and {id, value, gradient, addends, arriving, keptBy}:
// `addends` are what the gradient is the sum of, `arriving` how many of them come from other ops
// than these. edges: {from, to, goesBack}.
export function graphOfOps(program, ops, known) {
  return new GraphOfOps(program, ops, known).graph();
}

class GraphOfOps {
  constructor(program, ops, { isShown, gradientOf }) {
    this.program = program;
    this.ops = ops;
    this.isShown = isShown;
    this.gradientOf = gradientOf;
    this.own = new Set(ops.map(({ id }) => id));
    this.nodes = new Map();
    this.edges = [];
  }

  graph() {
    for (const op of this.ops) if (!isCopy(op)) this.addOp(op);
    for (const op of this.ops) if (!isCopy(op)) this.addOutput(op);
    for (const edge of this.edges) edge.goesBack = this.goesBack(edge);
    for (const node of this.nodes.values()) {
      if (node.op || node.gradient === null) continue;
      const ways = this.edges.filter(({ from, goesBack }) => from === node.id && goesBack);
      node.arriving = Math.max(0, node.addends.length - ways.length);
    }
    return { nodes: [...this.nodes.values()], edges: this.edges };
  }

  // The op that made a value, where it is one of these.
  maker(value) {
    const op = this.program.makers[value];
    return op && this.own.has(op.id) ? op : null;
  }

  // Through copies to what the page shows, or to what was computed.
  source(value) {
    const op = this.maker(value);
    return !this.isShown(value) && op && isCopy(op) ? this.source(op.inputs[0]) : value;
  }

  addOp(op) {
    const node = { id: `op ${op.id}`, op, parameters: [], kept: [] };
    node.backward = this.program.ops.filter((each) => each.backward && each.backward_of === op.id);
    this.nodes.set(node.id, node);
    const kept = new Set(op.kept ?? []);
    const keeps = (name) => kept.delete(name);
    op.inputs.forEach((value, i) => {
      const isKept = keeps(`input ${i}`);
      if (this.program.facts[value].kind === "parameter") node.parameters.push({ value, isKept });
      else this.read(value, node, isKept);
    });
    for (const [name, x] of Object.entries(op.isEdit ? {} : op.attributes)) {
      if (typeof x?.value === "number") this.read(x.value, node, keeps(name), name);
    }
    node.keepsOutput = keeps("output");
    node.kept = [...kept];
  }

  read(value, reader, isKept, attribute) {
    const node = this.valueNode(this.source(value), attribute);
    if (isKept) node.keptBy.push(reader.op);
    this.edges.push({ from: node.id, to: reader.id });
  }

  // The page may show what an op made in another shape.
  addOutput(op) {
    const made = this.edges.filter(({ from }) => from === `op ${op.id}`);
    const { keepsOutput } = this.nodes.get(`op ${op.id}`);
    if (made.length === 0) this.valueNode(this.shownAfter(op.output));
    if (!keepsOutput) return;
    for (const { from, to } of this.edges) {
      if (from === `op ${op.id}`) this.nodes.get(to).keptBy.push(op);
    }
  }

  shownAfter(value) {
    const [copy] = this.program.readers[value].filter((op) => this.own.has(op.id) && isCopy(op));
    return this.isShown(value) || !copy ? value : this.shownAfter(copy.output);
  }

  valueNode(value, attribute) {
    const id = `value ${value}`;
    if (!this.nodes.has(id)) {
      const gradient = attribute === undefined ? this.gradient(value) : null;
      const addends = gradient === null ? [] : this.addends(value, gradient);
      this.nodes.set(id, { id, value, attribute, gradient, addends, keptBy: [] });
      this.connectMaker(value, id);
    }
    return this.nodes.get(id);
  }

  connectMaker(value, id) {
    const op = this.maker(value);
    if (!op) return;
    const from = isCopy(op) ? this.source(op.inputs[0]) : value;
    const maker = this.maker(from);
    const isMade = maker && !isCopy(maker) && (from === value || !this.isShown(from));
    this.edges.push({ from: isMade ? `op ${maker.id}` : this.valueNode(from).id, to: id });
  }

  gradient(value) {
    return this.gradientOf(value) ?? gradientOfValue(this.program, value);
  }

  // A gradient of several values was added up at the last of them; a sum passes it on.
  addends(value, gradient) {
    const owners = this.program.gradientOf[gradient];
    const owner = owners.at(-1) ?? value;
    return owner === value ? addendsOf(this.program, gradient) : [gradient];
  }

  // Whether an addend of the gradient above came along this edge: as the gradient below, perhaps
  // moved, or from the backward ops of the op below.
  goesBack({ from, to }) {
    const upper = this.nodes.get(from);
    const lower = this.nodes.get(to);
    if (upper.op) return lower.gradient !== null;
    const { op } = lower;
    const passed = op ? this.gradient(op.output) : lower.gradient;
    return upper.addends.some((addend) => {
      const way = this.wayBack(addend);
      const last = this.program.makers[way.at(-1)];
      return way.includes(passed) || (op && last?.backward && last.backward_of === op.id);
    });
  }

  // A gradient, and what it was before copies moved it.
  wayBack(gradient) {
    const op = this.program.makers[gradient];
    const forward = op?.backward ? this.program.ops[op.backward_of] : undefined;
    const isMoved = forward && isCopy(forward);
    return isMoved ? [gradient, ...this.wayBack(op.inputs[0])] : [gradient];
  }
}
