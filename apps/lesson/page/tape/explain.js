// What made a cell and what reads it, from named value to named value.
import { Expression } from "../ops/expression.js";
import { opNamed } from "../ops/list.js";

// The op that made the cell, as a formula. It goes on through elementwise ops and copies, and
// through one sum or product on the way down, but through none within another, until it reaches
// named values.
/**
 * @param {Tape} tape
 * @param {number} value
 * @param {number} index
 * @param {(value: number) => boolean} isNamed
 */
export function explainedCell(tape, value, index, isNamed) {
  const known = new Map();

  /** @param {Op} op @param {Formula} cell @param {boolean} within */
  const opened = (op, cell, within) => {
    const kind = opNamed(op.op);
    const formula = kind.cell(tape.node(op), cell.index);
    const parts = within || Boolean(kind.adds || !kind.opens);
    return Expression.withCells(formula, (part) => expanded(part, parts));
  };

  /** @param {Formula} cell @param {boolean} within */
  const expanded = (cell, within) => {
    const key = `${cell.value}:${cell.index}:${within}`;
    if (!known.has(key)) known.set(key, expandedNow(cell, within));
    return known.get(key);
  };

  /** @param {Formula} cell @param {boolean} within */
  const expandedNow = (cell, within) => {
    if (isNamed(cell.value) || tape.isHeld(cell.value, cell.index)) return cell;
    const op = tape.program.makers[cell.value];
    if (!op) return Expression.number(tape.number(cell.value, cell.index)); // a constant
    const kind = opNamed(op.op);
    const isOpen = kind.opens ? !(within && kind.adds) : !within && kind.multiplies;
    return isOpen && kind.cell ? opened(op, cell, within) : cell;
  };

  // Through copies to the op that really made it.
  /** @type {(cell: Formula) => Formula} */
  const top = (cell) => {
    if (tape.isHeld(cell.value, cell.index)) {
      return Expression.number(tape.number(cell.value, cell.index), "edited");
    }
    const op = tape.program.makers[cell.value];
    const kind = op && opNamed(op.op);
    if (!kind?.cell) return cell;
    if (!kind.moves) return opened(op, cell, false);
    const source = kind.cell(tape.node(op), cell.index);
    return source.kind !== "cell" || isNamed(source.value) ? source : top(source);
  };

  return top(Expression.cell(value, index));
}

// The cells of named values that read a cell: through elementwise ops, copies and one sum of
// products on the way, as above. What leads to no named value is itself told.
/**
 * @param {Tape} tape
 * @param {number} value
 * @param {number} index
 * @param {(value: number) => boolean} isNamed
 */
export function readingCells(tape, value, index, isNamed) {
  const seen = new Set();
  /** @type {(Cell & { backward: boolean })[]} */
  const found = [];

  // Whether the cell leads anywhere.
  /** @param {number} from @param {number} at @param {boolean} within */
  const follow = (from, at, within) => {
    let leads = false;
    for (const op of tape.program.readers[from]) {
      const node = tape.node(op);
      op.inputs.forEach((input, position) => {
        if (input !== from) return;
        for (const out of opNamed(op.op).readers(node, position, at)) {
          leads = reach(op, out, within) || leads;
        }
      });
    }
    return leads;
  };

  /** @param {Op} op @param {number} out @param {boolean} within */
  const reach = (op, out, within) => {
    const key = `${op.output}:${out}`;
    if (seen.has(key)) return true;
    seen.add(key);
    const isOpen = opNamed(op.op).opens;
    const goesOn = !isNamed(op.output) && (isOpen || !within);
    if (goesOn && follow(op.output, out, within || !isOpen)) return true;
    if (isOpen && !isNamed(op.output)) return false;
    found.push({ value: op.output, index: out, backward: op.backward });
    return true;
  };

  follow(value, index, false);
  return found;
}
