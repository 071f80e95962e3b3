// What a planted mistake did: which gradients of this layer are wrong, and by how much.
import { element } from "./dom.js";
import { symbolText } from "../lesson/symbols.js";
import { shortNumber } from "../ops/numbers.js";
import { isRightShare, signatureOf } from "../tape/mistakes.js";
import { partsOf } from "../chapters/parts.js";
import { say } from "../texts/say.js";

export function mistakeNote(app) {
  const { lesson } = app;
  if (!lesson.state.break) return null;
  const { break: id } = lesson.state;
  const name = say(`break_${id}`);
  const shown = shownSignature(lesson);
  const wrong = shown.filter(({ isRight }) => !isRight);
  const right = shown.filter(({ isRight }) => isRight);
  return element(
    "div",
    { class: "mistake", role: "note" },
    element("p", {}, element("strong", { text: say("planted", { name }) })),
    element("p", { class: "knows", text: say(signatureText(id, wrong)) }),
    wrong.length === 0 ? null : list("wrong_ones", wrong, "bad"),
    wrong.length === 0 ? null : list("right_ones", right, "good"),
  );
}

function signatureText(id, wrong) {
  if (wrong.length > 0) return `knows_${id}`;
  return id === "mask" ? "harmless" : "no_harm";
}

// Of the gradients that the chapters of this layer show.
function shownSignature(lesson) {
  const symbols = new Map();
  for (const step of lesson.chapters.steps) {
    for (const part of partsOf(step)) {
      if (!part.derived && !symbols.has(part.value)) {
        symbols.set(part.value, `d${symbolText(part.symbol).replace("ᵀ", "")}`);
      }
    }
  }
  return wholeSignature(lesson)
    .filter(({ value }) => symbols.has(value))
    .map((each) => ({ ...each, symbol: symbols.get(each.value) }));
}

// The signature of the mistake that is planted now.
export function wholeSignature(lesson) {
  if (lesson.signature?.tape !== lesson.tape) {
    const all = signatureOf(lesson.rightTape, lesson.tape);
    lesson.signature = { tape: lesson.tape, all };
  }
  return lesson.signature.all;
}

export function isWrongGradient(lesson, { isGradient, of, value, part }) {
  if (!lesson.state.break || !isGradient) return false;
  if (part.isShare) return !isRightShare(lesson.rightTape, lesson.tape, value);
  return wholeSignature(lesson).some((each) => each.value === of && !each.isRight);
}

function list(key, items, kind) {
  const text = ({ symbol, ratio, isRight }) =>
    isRight || ratio === null ? symbol : `${symbol} ${say("times", { ratio: shortNumber(ratio) })}`;
  const unique = [...new Map(items.map((each) => [each.symbol, each])).values()];
  return element(
    "p",
    { class: kind },
    `${say(key)}: `,
    unique.map((each) => element("span", { class: "gradient-name", text: text(each) })),
  );
}
