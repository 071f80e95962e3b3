// What made a cell and what reads it, from named value to named value.
import { Expression } from "./expression.js";
import { opNamed } from "./ops.js";

// The op that made the cell, as a formula. It goes on through elementwise ops and copies, and
// through a sum, but not through a sum within a sum, until it reaches named values.
export function explainedCell(tape, value, index, isNamed) {
  const known = new Map();

  const opened = (op, cell, inSum) => {
    const kind = opNamed(op.op);
    const formula = kind.cell(tape.node(op), cell.index);
    const within = inSum || Boolean(kind.adds);
    return Expression.withCells(formula, (part) => expanded(part, within));
  };

  const expanded = (cell, inSum) => {
    const key = `${cell.value}:${cell.index}:${inSum}`;
    if (!known.has(key)) known.set(key, expandedNow(cell, inSum));
    return known.get(key);
  };

  const expandedNow = (cell, inSum) => {
    if (isNamed(cell.value)) return cell;
    const op = tape.program.makers[cell.value];
    if (!op || tape.isHeld(cell.value, cell.index)) return cell;
    const kind = opNamed(op.op);
    if (!kind.opens || !kind.cell || (inSum && kind.adds)) return cell;
    return opened(op, cell, inSum);
  };

  // Through copies to the op that really made it.
  const top = (cell) => {
    const op = tape.program.makers[cell.value];
    if (tape.isHeld(cell.value, cell.index)) {
      return Expression.number(tape.number(cell.value, cell.index), "edited");
    }
    if (!op || !opNamed(op.op).cell) return cell;
    if (!opNamed(op.op).moves) return opened(op, cell, false);
    const source = opNamed(op.op).cell(tape.node(op), cell.index);
    return source.kind !== "cell" || isNamed(source.value) ? source : top(source);
  };

  return top(Expression.cell(value, index));
}

// The cells of named values that read a cell. Through copies and elementwise ops that are not named
// it goes on; where the result of another op is not named, a copy of it may be.
export function readingCells(tape, value, index, isNamed) {
  const seen = new Set();
  const found = [];
  const isNew = (key) => !seen.has(key) && seen.add(key);
  const report = (op, at) => found.push({ value: op.output, index: at, backward: op.backward });

  // Calls f(op, index of its output) for each cell that reads this one.
  const eachReader = (from, at, f) => {
    for (const op of tape.program.readers[from]) {
      const node = tape.node(op);
      op.inputs.forEach((input, position) => {
        if (input !== from) return;
        for (const out of opNamed(op.op).readers(node, position, at)) {
          if (isNew(`${op.output}:${out}`)) f(op, out);
        }
      });
    }
  };

  // Whether a copy of this cell is named; if so, it is reported.
  const copyIsNamed = (from, at) => {
    let any = false;
    eachReader(from, at, (op, out) => {
      if (!opNamed(op.op).moves) {
        seen.delete(`${op.output}:${out}`);
      } else if (isNamed(op.output)) {
        report(op, out);
        any = true;
      } else if (copyIsNamed(op.output, out)) {
        any = true;
      }
    });
    return any;
  };

  const follow = (from, at) =>
    eachReader(from, at, (op, out) => {
      if (isNamed(op.output)) {
        report(op, out);
      } else if (opNamed(op.op).opens) {
        follow(op.output, out);
      } else if (!copyIsNamed(op.output, out)) {
        report(op, out);
      }
    });

  follow(value, index);
  return found;
}
