// What must hold whatever the numbers are: ✓ or ✗.
import { element } from "../../../report/page/dom.js";
import { invariantsOf } from "../lesson/invariants.js";
import { shortNumber } from "../ops/numbers.js";
import { languageNow, say } from "../texts/say.js";

export function invariantMarks(app, names) {
  const found = invariantsOf(app.lesson, names).map((each) => ({ ...each, worst: shortNumber(each.worst) }));
  const things = found.flatMap(({ name, worst, holds }) => [name, worst, holds]);
  return app.kept.get("invariants", [app.lesson.step, languageNow(), ...things], () => marksNow(found));
}

function marksNow(found) {
  const items = found.map(({ name, worst, holds }) =>
    element(
      "li",
      { class: holds ? "good" : "bad", "data-invariant": name, "data-holds": String(holds) },
      `${holds ? "✓" : "✗"} ${say(`invariant.${name}`)}`,
      element("span", { class: "worst", text: worst }),
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
