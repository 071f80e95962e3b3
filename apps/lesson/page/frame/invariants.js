// What must hold whatever the numbers are: ✓ or ✗.
import { element } from "../../../report/page/dom.js";
import { invariantsOf } from "../lesson/invariants.js";
import { shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

export function invariantMarks(app, names) {
  const items = invariantsOf(app.lesson, names).map(({ name, worst, holds }) =>
    element(
      "li",
      { class: holds ? "good" : "bad", "data-invariant": name, "data-holds": String(holds) },
      `${holds ? "✓" : "✗"} ${say(`invariant.${name}`)}`,
      element("span", { class: "worst", text: worst === 0 ? "0" : shortNumber(worst) }),
    ),
  );
  if (items.length === 0) return null;
  const failed = items.filter((item) => item.dataset.holds === "false").length;
  const counts = { count: items.length, failed };
  return element(
    "details",
    { class: "checks", open: failed > 0 },
    element("summary", {
      class: failed > 0 ? "bad" : "good",
      text: failed > 0 ? `✗ ${say("checks.fail", counts)}` : `✓ ${say("checks.hold", counts)}`,
    }),
    element("ul", { class: "invariants" }, items),
  );
}
