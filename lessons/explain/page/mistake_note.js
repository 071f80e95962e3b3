// What a planted mistake did: which gradients of this layer are wrong, and by how much.
import { element } from "./dom.js";
import { symbolText } from "./formulas.js";
import { shortNumber } from "./numbers.js";
import { signatureOf } from "./mistakes.js";
import { partsOf } from "./steps.js";
import { say } from "./texts.js";

export function mistakeNote(app) {
  const { lesson } = app;
  if (!lesson.state.break) return null;
  const name = say(`break_${lesson.state.break}`);
  const shown = shownSignature(lesson);
  const wrong = shown.filter(({ isRight }) => !isRight);
  const right = shown.filter(({ isRight }) => isRight);
  return element(
    "div",
    { class: "mistake", role: "note" },
    element("p", {}, element("strong", { text: say("planted", { name }) })),
    wrong.length === 0 ? element("p", { text: say("harmless") }) : list("wrong_ones", wrong, "bad"),
    wrong.length === 0 ? null : list("right_ones", right, "good"),
  );
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

export function isWrongGradient(lesson, value) {
  if (!lesson.state.break || value === undefined) return false;
  return wholeSignature(lesson).some((each) => each.value === value && !each.isRight);
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
