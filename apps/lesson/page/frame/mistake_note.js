// What a planted mistake did: which gradients of this layer are wrong, and by how much.
import { element } from "../../../report/page/dom.js";
import { symbolText } from "../lesson/symbols.js";
import { shortNumber } from "../ops/numbers.js";
import { comparerOf } from "../tape/mistakes.js";
import { say } from "../texts/say.js";

export function mistakeNote(app) {
  const { lesson } = app;
  const { planted: id, state } = lesson;
  if (!id || (state.case && state.guess !== id)) return null;
  const name = say(`break.${id}`);
  const told = ({ symbol, value }) => ({ symbol: symbolText(symbol).replace("ᵀ", ""), ...comparedNow(lesson, value) });
  const shown = lesson.shownGradients().map(told);
  const wrong = shown.filter(({ isRight }) => !isRight);
  const right = shown.filter(({ isRight }) => isRight);
  return element(
    "div",
    { class: "mistake", role: "note" },
    element("p", {}, element("strong", { text: say("mistake.planted", { name }) })),
    element("p", { class: "knows", text: say(signatureText(id, wrong)) }),
    wrong.length === 0 ? null : list("mistake.wrong", wrong, "bad"),
    wrong.length === 0 ? null : list("mistake.right", right, "good"),
  );
}

function signatureText(id, wrong) {
  if (wrong.length > 0) return `knows.${id}`;
  return id === "mask" ? "mistake.harmless" : "mistake.no_harm";
}

// With the numbers before the mistake was planted.
function comparedNow({ kept, rightTape, tape }, value) {
  const compare = kept.get("comparer", [rightTape, tape], () => comparerOf(rightTape, tape));
  return kept.get(`compared ${value}`, [compare], () => compare(value));
}

export function isWrongGradient(lesson, { isGradient, value, part }) {
  if (!lesson.planted || !isGradient) return false;
  return !comparedNow(lesson, part.derived ? part.gradient.value : value).isRight;
}

function list(key, items, kind) {
  const text = ({ symbol, ratio, isRight }) =>
    isRight || ratio === null ? symbol : `${symbol} ${say("mistake.times", { ratio: shortNumber(ratio) })}`;
  const unique = [...new Map(items.map((each) => [each.symbol, each])).values()];
  return element(
    "p",
    { class: kind },
    `${say(key)}: `,
    unique.map((each) => element("span", { class: "gradient-name", text: text(each) })),
  );
}
