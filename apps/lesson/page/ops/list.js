// Every op of the engine, forward only: its backward is on the tape, in ops.
import { choiceOps } from "./choices.js";
import { elementwiseOps } from "./elementwise.js";
import { movingOps } from "./moves.js";
import { productOps } from "./products.js";
import { rowOps } from "./rows.js";
import { sequenceOps } from "./sequences.js";

/** @type {{ [name: string]: OpKind }} */
const allOps = {
  ...choiceOps,
  ...elementwiseOps,
  ...movingOps,
  ...productOps,
  ...rowOps,
  ...sequenceOps,
};

/** @param {string} name @returns {OpKind} */
export function opNamed(name) {
  const found = Object.hasOwn(allOps, name) ? allOps[name] : null;
  if (!found) throw new Error(`there is no op "${name}"`);
  return found;
}

export const opNames = () => Object.keys(allOps);
