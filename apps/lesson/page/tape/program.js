// The ops of a tape in the order in which they run, with who reads and who makes each value. It has
// no numbers, and never changes: an edit of the ops makes another program.
import { makersOfConstants } from "./constants.js";
import { numberOfJson } from "../ops/numbers.js";

/** @param {any} attribute */
const referredValue = (attribute) =>
  attribute !== null && typeof attribute === "object" && "value" in attribute
    ? attribute.value
    : undefined;

// All values that an op depends on: its inputs, and the arrays among its attributes.
/** @param {Partial<RecordedOp>} op @returns {number[]} */
function readsOf({ inputs, attributes }) {
  const arrays = Object.values(attributes).map(referredValue);
  return [...new Set([...inputs, ...arrays.filter((value) => value !== undefined)])];
}

// An op as it is kept: frozen, with its id and what it reads.
/** @param {Partial<RecordedOp>} op @param {number} id @returns {Op} */
export function completeOp(op, id) {
  const attributes = Object.fromEntries(
    Object.entries(op.attributes ?? {}).map(([name, x]) => [name, numberOfJson(x)]),
  );
  const complete = { ...op, id, attributes };
  return /** @type {Op} */ (Object.freeze({ ...complete, reads: readsOf(complete) }));
}

export class Program {
  // facts: what is known of each value but its numbers; ops by id; order: ids as they run
  /** @param {{ facts: Fact[], ops: Op[], order: number[], loss: number }} options */
  constructor({ facts, ops, order, loss }) {
    this.facts = facts;
    this.ops = ops;
    this.order = order;
    this.loss = loss;
    /** @type {Op[]} */
    this.makers = new Array(facts.length).fill(null);
    this.readers = facts.map(() => /** @type {Op[]} */ ([]));
    /** @type {number[][]} */
    this.gradients = null;
    for (const id of order) {
      const op = ops[id];
      this.makers[op.output] = op;
      for (const value of op.reads) this.readers[value].push(op);
    }
    this.named = this.namedValues();
  }

  /** @param {LessonDocument} document */
  static fromDocument(document) {
    const facts = document.values.map(({ numbers, ...fact }) => fact);
    const recorded = document.ops.map((op, id) =>
      completeOp({ ...op, backward: id >= document.forward_ops }, id),
    );
    const makers = makersOfConstants(document).map(({ before, ...op }, i) => {
      facts[op.output] = { ...facts[op.output], kind: "computed" };
      return { before, op: completeOp(op, recorded.length + i) };
    });
    const order = recorded.flatMap(({ id }) => [
      ...makers.filter(({ before }) => before === id).map(({ op }) => op.id),
      id,
    ]);
    const ops = [...recorded, ...makers.map(({ op }) => op)];
    return new Program({ facts, ops, order, loss: document.loss });
  }

  // Parameters, what the layers and the document named, and the gradients of these.
  namedValues() {
    const named = this.facts.map((fact) => Boolean(fact.name || fact.paths?.length));
    this.facts.forEach(({ gradient }, id) => {
      if (named[id] && gradient !== undefined && gradient !== null) named[gradient] = true;
    });
    return named;
  }

  // The ops in the order in which they run.
  get inOrder() {
    return this.order.map((id) => this.ops[id]);
  }

  // Whose gradient each value is: [value, …], in the order of the forward pass.
  get gradientOf() {
    if (!this.gradients) {
      this.gradients = this.facts.map(() => /** @type {number[]} */ ([]));
      this.facts.forEach(({ gradient }, id) => this.gradients[gradient]?.push(id));
    }
    return this.gradients;
  }

  // Marks `value`, and all that is made of it; only by the ops `within`.
  /** @param {number} value @param {(op: Op) => boolean} within */
  dependents(value, within) {
    const marked = new Uint8Array(this.facts.length);
    marked[value] = 1;
    for (const op of this.inOrder) {
      if (within(op) && op.reads.some((each) => marked[each])) marked[op.output] = 1;
    }
    return marked;
  }

  // The ops that `value` comes from.
  /** @param {number} value */
  ancestors(value) {
    const found = new Set();
    /** @param {number} each */
    const visit = (each) => {
      const op = this.makers[each];
      if (!op || found.has(op)) return;
      found.add(op);
      op.reads.forEach(visit);
    };
    visit(value);
    return found;
  }
}
