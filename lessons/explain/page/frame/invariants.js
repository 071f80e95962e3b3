// What must hold whatever the numbers are: ✓ or ✗.
import { element } from "./dom.js";
import { invariantsOf } from "../lesson/invariants.js";
import { shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

export function invariantMarks(app, names) {
  const items = invariantsOf(app.lesson, names).map(({ name, worst, holds }) =>
    element(
      "li",
      { class: holds ? "good" : "bad", "data-invariant": name, "data-holds": String(holds) },
      `${holds ? "✓" : "✗"} ${say(`invariant_${name}`)}`,
      element("span", { class: "worst", text: worst === 0 ? "0" : shortNumber(worst) }),
    ),
  );
  return items.length > 0 ? element("ul", { class: "invariants" }, items) : null;
}
