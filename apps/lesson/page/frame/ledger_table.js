// The shares of a gradient by the paths on which they came.
import { tableElement } from "./elements.js";
import { element } from "../../../report/page/dom.js";
import { formula } from "../../../report/page/formula.js";
import { shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

// A share: how much of the sum points the way of the sum. The shares add up to 1.
export function ledgerTable(app) {
  const { tape, step } = app.lesson;
  const total = tape.values[step.total].data;
  const square = dot(total, total);
  const lines = step.shares.map(({ symbol, value }) => {
    const { data } = tape.values[value];
    const share = square > 0 ? dot(data, total) / square : 0;
    return line(formula(symbol), Math.sqrt(dot(data, data)), share);
  });
  const sum = line(say("ledger.sum"), Math.sqrt(square), square > 0 ? 1 : 0);
  sum.className = "sum";
  return tableElement("ledger", [...["path", "norm", "share"].map((key) => say(`ledger.${key}`)), ""], [...lines, sum]);
}

function line(name, norm, share) {
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, name),
    element("td", { text: shortNumber(norm) }),
    element("td", { text: shortNumber(share) }),
    element(
      "td",
      { class: "bar", "aria-hidden": "true" },
      element("i", {
        class: share < 0 ? "negative" : null,
        style: `width: ${Math.min(100, Math.abs(share) * 100)}%`,
      }),
    ),
  );
}
