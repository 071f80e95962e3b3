// An edit of the ops of a tape, under way. What stays the same is shared with the tape.
import { backwardOf, gradientOfValue, isAccumulation } from "./layers.js";
import { completeOp, Program } from "./program.js";
import { sizeOf } from "../ops/shapes.js";

export class Draft {
  /** @param {Tape} tape */
  constructor(tape) {
    const { facts, ops, order } = tape.program;
    this.tape = tape;
    this.facts = facts.slice();
    this.ops = ops.slice();
    this.order = order.slice();
    this.values = new Map(); // numbers of leaves that are new or replaced
    this.touched = new Set(); // ids of ops that are new or replaced
  }

  // As it stands now.
  program() {
    const { facts, ops, order } = this;
    return new Program({ facts, ops, order, loss: this.tape.program.loss });
  }

  done() {
    const { tape, values, touched } = this;
    if (touched.size === 0 && values.size === 0) return tape;
    return tape.changed({ program: this.program(), values, ops: touched });
  }

  /** @param {Partial<Fact>} fact */
  addValue(fact) {
    return this.facts.push({ shape: [], kind: "computed", ...fact }) - 1;
  }

  /** @param {Shape} shape @param {Numbers} data @param {Partial<Fact>} [fact] */
  addConstant(shape, data, fact = {}) {
    const value = this.addValue({ ...fact, shape, kind: "constant" });
    this.setNumbers(value, data);
    return value;
  }

  /** @param {number} value @param {Numbers} data */
  setNumbers(value, data) {
    this.values.set(value, { shape: this.facts[value].shape, data });
  }

  /** @param {number} value @param {Partial<Fact>} fact */
  setFact(value, fact) {
    this.facts[value] = { ...this.facts[value], ...fact };
  }

  /** @param {number} id @param {Partial<RecordedOp>} changes */
  replaceOp(id, changes) {
    this.ops[id] = completeOp({ ...this.ops[id], ...changes }, id);
    this.touched.add(id);
  }

  // Its output is what it is given, and nothing else.
  /** @param {number} id @param {number} value */
  passOn(id, value) {
    this.replaceOp(id, { op: "reshape", inputs: [value], attributes: {} });
  }

  /** @param {number} id @param {number} from @param {number} to */
  rereadInput(id, from, to) {
    if (!this.ops[id].inputs.includes(from)) return;
    const inputs = this.ops[id].inputs.map((value) => (value === from ? to : value));
    this.replaceOp(id, { inputs });
  }

  /** @param {Partial<RecordedOp>} op @param {number} before */
  insertOp(op, before) {
    const id = this.ops.length;
    this.ops.push(completeOp(op, id));
    const place = this.order.indexOf(before);
    this.order.splice(place < 0 ? this.order.length : place, 0, id);
    this.touched.add(id);
    return id;
  }

  // Puts an op between `value` and the forward ops that read it, and another into the way back of
  // its gradient. Gives the id of the new value, which has `paths`.
  /**
   * @param {number} value
   * @param {number} gradient
   * @param {{ forward: Partial<RecordedOp>, backward: Partial<RecordedOp>, paths?: string[] }} options
   */
  insertAfter(value, gradient, { forward, backward, paths }) {
    const program = this.program();
    const { shape } = this.facts[value];
    const output = this.addValue({ shape, paths, gradient });
    const consumers = program.readers[value].filter((op) => !op.backward);
    const { scope } = consumers[0];
    const id = this.insertOp(
      { ...forward, inputs: [value], output, scope, backward: false },
      consumers[0].id,
    );
    for (const op of consumers) this.rereadInput(op.id, value, output);
    const earlier = this.insertOnWayBack(value, gradient, { ...backward, backward_of: id });
    if (earlier !== null) this.setFact(value, { gradient: earlier });
    return output;
  }

  // Puts an op between the gradient of a value and what reads it on the way to earlier values.
  // Gives the id of what it makes, or null where the gradient goes no further.
  /** @param {number} value @param {number} gradient @param {Partial<RecordedOp>} op */
  insertOnWayBack(value, gradient, op) {
    const program = this.program();
    const made = program.makers[value];
    const before = program.ancestors(value);
    const passes = made?.op === "add"; // the gradients of a and b are that of a + b
    const readers = program.readers[gradient].filter(
      (reader) => before.has(this.ops[reader.backward_of]) || (passes && isAccumulation(reader)),
    );
    if (readers.length === 0) return null;
    const output = this.addValue({ shape: this.facts[gradient].shape });
    const { scope } = readers[0];
    this.insertOp({ ...op, inputs: [gradient], output, scope, backward: true }, readers[0].id);
    for (const { id } of readers) this.rereadInput(id, gradient, output);
    for (const { output: each } of before) {
      if (each !== value && this.facts[each].gradient === gradient) {
        this.setFact(each, { gradient: output });
      }
    }
    return output;
  }

  // Some cells of a value get other numbers: [[index, number], …]. What an op made stays beside it
  // for the backward of that op; there is no gradient to what the cells would have been made of.
  /** @param {number} value @param {[number, number][]} cells */
  overwrite(value, cells) {
    const op = this.program().makers[value];
    /** @type {[number, number][]} */
    const marks = cells.map(([index]) => [index, 1]);
    if (!op) {
      this.setNumbers(value, withCells(this.numbersOf(value), cells));
    } else if (op.isEdit) {
      const mask = op.attributes.mask.value;
      const [numbers] = op.inputs;
      this.setNumbers(mask, withCells(this.numbersOf(mask), marks));
      this.setNumbers(numbers, withCells(this.numbersOf(numbers), cells));
    } else {
      const { shape } = this.facts[value];
      const none = new Float64Array(sizeOf(shape));
      const mask = this.addConstant(shape, withCells(none, marks));
      const numbers = this.addConstant(shape, withCells(none, cells));
      if (!op.backward) this.stopGradient(value, mask);
      this.holdCells(value, op, { mask, numbers });
    }
  }

  /** @param {number} value @returns {Numbers} */
  numbersOf(value) {
    return (this.values.get(value) ?? this.tape.values[value]).data;
  }

  /** @param {number} value @param {number} mask */
  stopGradient(value, mask) {
    const gradient = gradientOfValue(this.program(), value);
    if (gradient === null) return;
    const attributes = { mask: { value: mask }, value: 0 };
    this.insertOnWayBack(value, gradient, { op: "masked_fill", attributes });
  }

  /** @param {number} value @param {Op} op @param {{ mask: number, numbers: number }} options */
  holdCells(value, op, { mask, numbers }) {
    const made = this.addValue({ shape: this.facts[value].shape });
    const at = this.order.indexOf(op.id);
    this.replaceOp(op.id, { output: made });
    for (const { id } of backwardOf(this.program(), op)) this.rereadInput(id, value, made);
    const inputs = [numbers, made];
    const attributes = { mask: { value: mask } };
    const { scope, backward } = op;
    const edit = { op: "where", inputs, output: value, attributes, scope, backward, isEdit: true };
    this.insertOp(edit, this.order[at + 1]);
  }
}

/** @param {NumberList} numbers @param {[number, number][]} cells */
function withCells(numbers, cells) {
  const copy = Float64Array.from(numbers);
  for (const [index, number] of cells) copy[index] = number;
  return copy;
}
