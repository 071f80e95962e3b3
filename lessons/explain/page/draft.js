// An edit of the ops of a tape, under way. What stays the same is shared with the tape.
import { completeOp, Program } from "./program.js";

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

  done() {
    if (this.touched.size === 0 && this.values.size === 0) return this.tape;
    const { values, touched } = this;
    return this.tape.changed({ program: this.program(), values, ops: touched });
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

    const before = program.ancestors(value);
    const earlier = this.addValue({ shape: this.facts[gradient].shape });
    const readers = program.readers[gradient].filter((op) => before.has(this.ops[op.backward_of]));
    if (readers.length > 0) {
      const made = { inputs: [gradient], output: earlier, scope, backward: true, backward_of: id };
      this.insertOp({ ...backward, ...made }, readers[0].id);
      for (const op of readers) this.rereadInput(op.id, gradient, earlier);
    }
    for (const each of [value, ...[...before].map((op) => op.output)]) {
      if (this.facts[each].gradient === gradient) this.setFact(each, { gradient: earlier });
    }
    return output;
  }
}
