// An edit of the ops of a tape, under way. What stays the same is shared with the tape.
import { gradientOfValue, isAccumulation } from "./layers.js";
import { completeOp, Program } from "./program.js";
import { sizeOf } from "./shapes.js";

export class Draft {
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

  done(held = this.tape.held) {
    const { tape, values, touched } = this;
    if (touched.size === 0 && values.size === 0) return tape;
    return tape.changed({ program: this.program(), held, values, ops: touched });
  }

  addValue(fact) {
    return this.facts.push({ kind: "computed", ...fact }) - 1;
  }

  addConstant(shape, data, fact = {}) {
    const value = this.addValue({ ...fact, shape, kind: "constant" });
    this.setNumbers(value, data);
    return value;
  }

  setNumbers(value, data) {
    this.values.set(value, { shape: this.facts[value].shape, data });
  }

  setFact(value, fact) {
    this.facts[value] = { ...this.facts[value], ...fact };
  }

  replaceOp(id, changes) {
    this.ops[id] = completeOp({ ...this.ops[id], ...changes }, id);
    this.touched.add(id);
  }

  // Its output is what it is given, and nothing else.
  passOn(id, value) {
    this.replaceOp(id, { op: "reshape", inputs: [value], attributes: {} });
  }

  rereadInput(id, from, to) {
    const inputs = this.ops[id].inputs.map((value) => (value === from ? to : value));
    this.replaceOp(id, { inputs });
  }

  insertOp(op, before) {
    const id = this.ops.length;
    this.ops.push(completeOp(op, id));
    this.order.splice(this.order.indexOf(before), 0, id);
    this.touched.add(id);
    return id;
  }

  // Puts an op between `value` and the forward ops that read it, and another into the way back of
  // its gradient. Gives the id of the new value, which has `paths`.
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

  // Cells of a computed value are held at a number, so that what they would have been made of has
  // no part in the loss through them: their gradient stops there.
  stopGradient(value, indices) {
    const gradient = gradientOfValue(this.program(), value);
    if (gradient === null) return;
    const { shape } = this.facts[value];
    const mask = new Float64Array(sizeOf(shape));
    for (const index of indices) mask[index] = 1;
    const known = this.ops.find((op) => op.stops === value);
    if (known) {
      this.setNumbers(known.attributes.mask.value, mask);
      return;
    }
    const attributes = { mask: { value: this.addConstant(shape, mask) }, value: 0 };
    this.insertOnWayBack(value, gradient, { op: "masked_fill", attributes, stops: value });
  }
}
