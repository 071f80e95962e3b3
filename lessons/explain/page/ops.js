// Every op of the engine, forward only: its backward is on the tape, in ops.
import { choiceOps } from "./ops_choices.js";
import { elementwiseOps } from "./ops_elementwise.js";
import { movingOps } from "./ops_moves.js";
import { productOps } from "./ops_products.js";
import { rowOps } from "./ops_rows.js";
import { sequenceOps } from "./ops_sequences.js";

const opTable = {
  ...choiceOps,
  ...elementwiseOps,
  ...movingOps,
  ...productOps,
  ...rowOps,
  ...sequenceOps,
};

export function opNamed(name) {
  const found = Object.hasOwn(opTable, name) ? opTable[name] : null;
  if (!found) throw new Error(`there is no op "${name}"`);
  return found;
}

export const opNames = () => Object.keys(opTable);
