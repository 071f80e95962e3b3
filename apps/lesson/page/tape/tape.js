// What the engine computed, forward and backward, computed again in float64. A tape never changes:
// an edit gives another tape, which shares with it all that stayed the same.
import { Draft } from "./draft.js";
import { decodeNumbers } from "../ops/numbers.js";
import { opNamed } from "../ops/list.js";
import { Program } from "./program.js";

/** @param {LessonDocument} document */
const leavesOf = ({ values }) =>
  values.map(({ kind, shape, numbers }) =>
    kind === "computed" ? null : { shape, data: decodeNumbers(numbers) },
  );

// A tensor that is made when somebody asks for its numbers. What it is made of comes first, so that calls do not pile
// up on each other.
class Promised {
  /** @param {Tape} tape @param {Op} op */
  constructor(tape, op) {
    this.shape = tape.facts[op.output].shape;
    this.tape = tape;
    this.op = op;
    /** @type {Numbers} */
    this.made = null;
  }

  get data() {
    /** @type {Promised[]} */
    const asked = this.made ? [] : [this];
    while (asked.length > 0) {
      const last = asked.at(-1);
      const missing = last.missing();
      asked.push(...missing);
      if (missing.length > 0) continue;
      if (!last.made) last.made = last.tape.computed(last.op).data;
      last.tape = null; // of which nothing else is needed
      asked.pop();
    }
    return this.made;
  }

  // What is to be made before it.
  missing() {
    if (this.made) return [];
    const read = this.op.reads.map((value) => this.tape.values[value]);
    return read.flatMap((each) => (each instanceof Promised && !each.made ? [each] : []));
  }
}

export class Tape {
  /** @param {LessonDocument} document @param {{ program: Program, values: Tensor[] }} [parts] */
  constructor(document, parts) {
    this.document = document;
    this.program = parts?.program ?? Program.fromDocument(document);
    this.values = parts?.values ?? leavesOf(document);
    /** @type {{ key: string, tape: Tape }} */
    this.lastEditable = null;
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

  // What an op reads and writes, with its numbers.
  /** @param {Op} op @param {Tensor[]} [values] @returns {OpNode} */
  node(op, values = this.values) {
    const { inputs, attributes, output } = op;
    const resolved = { ...attributes };
    for (const [name, x] of Object.entries(attributes)) {
      if (x !== null && typeof x === "object" && "value" in x) {
        resolved[name] = operandOf(x.value, values);
      }
    }
    return {
      inputs: inputs.map((value) => operandOf(value, values)),
      attributes: resolved,
      shape: this.facts[output].shape,
      output,
    };
  }

  /** @param {Op} op @param {Tensor[]} [values] */
  computed(op, values = this.values) {
    const node = this.node(op, values);
    return { shape: node.shape, data: opNamed(op.op).run(node) };
  }

  // The same ops with all of their numbers.
  /** @param {Tensor[]} values */
  withValues(values) {
    return new Tape(this.document, { program: this.program, values });
  }

  // Another tape: another program, and some of the values (by id) replaced. What depends on these,
  // and on the output of `ops`, is computed again, when it is asked for.
  /** @param {{ program?: Program, values?: Map<number, Tensor>, ops?: Iterable<number> }} options */
  changed({ program = this.program, values: replaced = new Map(), ops = [] }) {
    const tape = new Tape(this.document, { program, values: this.values.slice() });
    const isChanged = new Uint8Array(program.facts.length);
    const again = new Set(ops);
    for (const [value, tensor] of replaced) {
      const before = tape.values[value];
      if (before && sameNumbers(before.data, tensor.data)) continue;
      tape.values[value] = tensor;
      isChanged[value] = 1;
    }
    for (const id of program.order) {
      const op = program.ops[id];
      if (!again.has(id) && !op.reads.some((value) => isChanged[value])) continue;
      tape.values[op.output] = new Promised(tape, op);
      isChanged[op.output] = 1;
    }
    return tape;
  }

  // Cells overwritten: [{value, index, number}]. A computed cell stays at its number, and what
  // depends on it follows, forward and backward.
  /** @param {Edit[]} edits */
  edited(edits) {
    const values = [...new Set(edits.map(({ value }) => value))];
    const tape = this.editable(values);
    const draft = new Draft(tape);
    for (const value of values) {
      const own = edits.filter((edit) => edit.value === value);
      draft.overwrite(value, own.map(({ index, number }) => [index, number]));
    }
    const isOfMask = values.some((value) => this.facts[value].dtype === "bool"); // by which formulas are written
    return isOfMask ? draft.done() : tape.changed({ values: draft.values });
  }

  // The same with a place for edits at these values, so that all edits of them have one program.
  /** @param {number[]} values */
  editable(values) {
    const key = values.join();
    if (this.lastEditable?.key !== key) {
      const draft = new Draft(this);
      for (const value of values) draft.overwrite(value, []);
      this.lastEditable = { key, tape: draft.done() };
    }
    return this.lastEditable.tape;
  }

  // Whether a computed cell was edited.
  /** @param {number} value @param {number} index */
  isHeld(value, index) {
    const op = this.program.makers[value];
    return Boolean(op?.isEdit && this.values[op.attributes.mask.value].data[index]);
  }

  loss() {
    return this.values[this.program.loss].data[0];
  }

  // The tensor that is the gradient of a value, where there is one.
  /** @param {number} value */
  gradient(value) {
    const id = this.facts[value].gradient;
    return id === undefined || id === null ? null : this.values[id];
  }

  /** @param {number} value @param {number} index */
  number(value, index) {
    return this.values[value].data[index];
  }

  /** @param {number} value */
  isNamed(value) {
    return this.program.named[value];
  }

  // What a value is called: its own name, a path, or "d " and what it is the gradient of.
  /** @param {number} value @returns {string} */
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

  // Against the numbers of the engine, where the document has them: the largest difference, in
  // units of the largest number of its tensor, or of 1.
  difference() {
    let worst = { difference: 0, value: -1, index: -1 };
    let compared = 0;
    this.document.values.forEach(({ kind, numbers }, value) => {
      if (kind !== "computed" || !numbers) return;
      const theirs = decodeNumbers(numbers);
      const found = largestDifference(this.values[value].data, theirs);
      compared += theirs.length;
      if (!(found.difference <= worst.difference)) worst = { ...found, value };
    });
    return { ...worst, compared };
  }
}

/** @param {number} value @param {Tensor[]} values */
const operandOf = (value, values) => ({ value, shape: values[value].shape, data: values[value].data });

/** @param {Numbers} a @param {Numbers} b */
function sameNumbers(a, b) {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}

/** @param {Numbers} ours @param {Numbers} theirs */
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
