// A detective: a mistake is planted in the backward pass, and its name is hidden. Marks and differences tell where
// numbers are wrong; which formula makes them so is to be found.
import { mistakeOptions } from "../frame/controls.js";
import { buttonElement, selectElement } from "../frame/elements.js";
import { element } from "../../../report/page/dom.js";
import { comparerOf, mistakes } from "../tape/mistakes.js";
import { symbolText } from "../lesson/symbols.js";
import { say } from "../texts/say.js";

const cases = 6;

export const detectiveChapter = {
  id: "detective",
  view(app) {
    const opened = { guess: null, break: null, step: "loss", route: "back", cell: null };
    const open = (number) => app.go({ ...opened, case: String(number) });
    const buttons = Array.from({ length: cases }, (_, i) =>
      element("li", {}, buttonElement(say("case.title", { number: i + 1 }), () => open(i + 1))),
    );
    return element("div", { class: "detective" }, element("p", { text: say("case.how") }), element("ol", {}, buttons));
  },
};

// Which mistake is planted in a case: one that makes something wrong in this layer.
export function mistakeOfCase(number, tape, layer) {
  const telling = mistakes.filter((mistake) => mistake.isPossible(tape, layer) && isHarmful(tape, mistake.plant(tape, layer)));
  return telling[(7 * number + 3) % telling.length] ?? null;
}

function isHarmful(right, wrong) {
  const compare = comparerOf(right, wrong);
  return right.facts.some((_, value) => right.isNamed(value) && right.gradient(value) && !compare(right.facts[value].gradient).isRight);
}

// Above every step while a case is open.
export function caseBanner(app) {
  const { lesson } = app;
  const { state } = lesson;
  if (!state.case || !lesson.planted) return null;
  const isFound = state.guess === lesson.planted;
  const options = [["", "?"], ...mistakeOptions(lesson)];
  const guess = (id) => app.go({ guess: id || null }, { replace: true });
  const close = () => app.go({ case: null, guess: null, step: "detective", cell: null });
  return element(
    "div",
    { class: `case${isFound ? " found" : ""}` },
    element("strong", { text: say("case.title", { number: state.case }) }),
    element("label", {}, `${say("case.guess")} `, selectElement(options, state.guess, guess)),
    element("span", { role: "status", class: isFound ? "good" : "bad" }, isFound ? struckFormula(state.guess) : evidence(lesson)),
    buttonElement(say("case.close"), close),
  );
}

// Why a guess is wrong: a matrix that it would spoil and that is right, or the other way round.
function evidence(lesson) {
  const { state, rightTape, tape } = lesson;
  const guessed = mistakes.find(({ id }) => id === state.guess);
  if (!guessed) return "";
  const [now, then] = [tape, guessed.plant(rightTape, state.layer)].map((wrong) => comparerOf(rightTape, wrong));
  const isTelling = ({ value }) => now(value).isRight !== then(value).isRight;
  const telling = lesson.shownGradients().find(isTelling);
  if (!telling) return say("case.no");
  return say(now(telling.value).isRight ? "case.is_right" : "case.is_wrong", { name: symbolText(telling.symbol) });
}

// The right formula, with what was forgotten struck out.
const formulas = {
  scale: ["dZ = dS", " / √d_k", ""],
  mask: ["dS = dS_m", ", 0 (M = −∞)", ""],
  row_sum: ["dS = P ∘ (dP", " − rowsum(P ∘ dP)", ")"],
  transpose: ["dK = dZ", "ᵀ", " Q"],
  overwritten: ["dX = ", "dX_q + dX_k + ", "dX_v"],
  residual: ["dX_in = ", "dR + ", "dX_in,norm"],
};

function struckFormula(id) {
  const [before, forgotten, after] = formulas[id];
  return [`${say("case.found")} `, element("code", {}, before, element("del", { text: forgotten }), after)];
}
