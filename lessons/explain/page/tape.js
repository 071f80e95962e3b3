// What the engine computed, forward and backward, computed again in float64. A tape never changes:
// an edit gives another tape, which shares with it all that stayed the same.
import { Draft } from "./draft.js";
import { explainedCell, readingCells } from "./explain.js";
import { decodeNumbers } from "./numbers.js";
import { opNamed } from "./ops.js";
import { Program } from "./program.js";

const leavesOf = ({ values }) =>
  values.map(({ kind, shape, numbers }) =>
    kind === "computed" ? null : { shape, data: decodeNumbers(numbers) },
  );

// held: numbers that were edited, by value and index; they stay, whatever their op would make
const noEdits = new Map();

export class Tape {
  constructor(document, parts) {
    this.document = document;
    this.program = parts?.program ?? Program.fromDocument(document);
    this.values = parts?.values ?? leavesOf(document);
    this.held = parts?.held ?? noEdits;
  }

  // Computes everything.
  run() {
    this.values.length = this.facts.length;
    for (const id of this.program.order) {
      const op = this.program.ops[id];
      this.values[op.output] = this.computed(op);
    }
    return this;
  }

  get facts() {
    return this.program.facts;
  }

  get ops() {
    return this.program.ops;
  }

  // What an op reads and writes, with its numbers.
  node(op, values = this.values) {
    const { inputs, attributes, output } = op;
    const resolved = { ...attributes };
    for (const [name, x] of Object.entries(attributes)) {
      if (x !== null && typeof x === "object" && "value" in x) {
        resolved[name] = { value: x.value, ...values[x.value] };
      }
    }
    return {
      inputs: inputs.map((value) => ({ value, ...values[value] })),
      attributes: resolved,
      shape: this.facts[output].shape,
      output,
    };
  }

  computed(op, values = this.values) {
    const node = this.node(op, values);
    const data = opNamed(op.op).run(node);
    return { shape: node.shape, data: this.withHeld(op.output, data) };
  }

  withHeld(value, data) {
    const cells = this.held.get(value);
    return cells ? overwritten(data, cells) : data;
  }

  // Another tape: some of {program, held} and of the values (by id) replaced. What depends on these,
  // and the output of `ops`, is computed again.
  changed({ program = this.program, held = this.held, values: replaced = new Map(), ops = [] }) {
    const tape = new Tape(this.document, { program, held, values: this.values.slice() });
    const isChanged = new Uint8Array(program.facts.length);
    const again = new Set(ops);
    const put = (value, tensor) => {
      const before = tape.values[value];
      tape.values[value] = tensor;
      isChanged[value] = before && sameNumbers(before.data, tensor.data) ? 0 : 1;
    };
    for (const [value, tensor] of replaced) put(value, tensor);
    for (const id of program.order) {
      const op = program.ops[id];
      if (!again.has(id) && !op.reads.some((value) => isChanged[value])) continue;
      put(op.output, tape.computed(op));
    }
    return tape;
  }

  // Cells overwritten: [{value, index, number}]. A computed cell stays at its number, and what
  // depends on it follows, forward and backward.
  edited(edits) {
    const held = new Map(this.held);
    for (const { value, index, number } of edits) {
      held.set(value, new Map(held.get(value)).set(index, number));
    }
    const draft = new Draft(this);
    for (const value of new Set(edits.map((edit) => edit.value))) {
      const op = this.program.makers[value];
      const cells = held.get(value);
      if (op) draft.touched.add(op.id);
      if (op && !op.backward) draft.stopGradient(value, cells.keys());
      if (!op) draft.setNumbers(value, overwritten(this.values[value].data, cells));
    }
    return draft.done(held);
  }

  isHeld(value, index) {
    return Boolean(this.held.get(value)?.has(index));
  }

  loss() {
    return this.values[this.program.loss].data[0];
  }

  // The tensor that is the gradient of a value, where there is one.
  gradient(value) {
    const id = this.facts[value].gradient;
    return id === undefined || id === null ? null : this.values[id];
  }

  number(value, index) {
    return this.values[value].data[index];
  }

  isNamed(value) {
    return this.program.named[value];
  }

  // What a value is called: its own name, a path, or "d " and what it is the gradient of.
  name(value) {
    const fact = this.facts[value];
    const own = fact.name ?? fact.paths?.[0];
    if (own) return own;
    const source = this.program.gradientOf[value].find(
      (each) => this.facts[each].name ?? this.facts[each].paths?.length,
    );
    if (source !== undefined) return `d ${this.name(source)}`;
    const op = this.program.makers[value];
    return op ? `${op.scope ? `${op.scope}.` : ""}${op.op} #${value}` : `#${value}`;
  }

  // How this cell was made, down to named values; see explain.js.
  expression(value, index, isNamed = (id) => this.isNamed(id)) {
    return explainedCell(this, value, index, isNamed);
  }

  // The cells of named values that read this cell: [{value, index, backward}].
  uses(value, index, isNamed = (id) => this.isNamed(id)) {
    return readingCells(this, value, index, isNamed);
  }

  // Against the numbers of the engine, where the document has them: the largest difference, in
  // units of the largest number of its tensor, or of 1.
  difference() {
    let worst = { difference: 0, value: null, index: null, compared: 0 };
    let compared = 0;
    this.document.values.forEach(({ kind, numbers }, value) => {
      if (kind !== "computed" || !numbers) return;
      const found = largestDifference(this.values[value].data, decodeNumbers(numbers));
      compared += this.values[value].data.length;
      if (!(found.difference <= worst.difference)) worst = { ...found, value };
    });
    return { ...worst, compared };
  }
}

function overwritten(data, cells) {
  const copy = Float64Array.from(data);
  for (const [index, number] of cells) copy[index] = number;
  return copy;
}

function sameNumbers(a, b) {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}

function largestDifference(ours, theirs) {
  let scale = 1;
  for (const x of theirs) if (Number.isFinite(x)) scale = Math.max(scale, Math.abs(x));
  let worst = { difference: 0, index: 0 };
  for (let i = 0; i < theirs.length; i++) {
    if (Object.is(ours[i], theirs[i]) || ours[i] === theirs[i]) continue;
    const difference = Math.abs(ours[i] - theirs[i]) / scale;
    if (!(difference <= worst.difference)) worst = { difference, index: i };
  }
  return worst;
}
