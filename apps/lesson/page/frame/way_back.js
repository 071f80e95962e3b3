// On the way back: of a step what arrives, by what it is multiplied, and what leaves.
import { element } from "../../../report/page/dom.js";
import { formula } from "../../../report/page/formula.js";
import { say } from "../texts/say.js";

// By the tape: what none of the other gradients here went into has arrived.
export function whatPasses(lesson) {
  const shown = lesson
    .matrices()
    .map(({ backward }) => backward)
    .filter((backward) => backward?.symbol.startsWith("d"));
  if (shown.length < 2) return null;
  const values = new Set(shown.map(({ value }) => value));
  const isMade = (matrix, i) =>
    matrix.derived || shown.slice(i + 1).some(({ value }) => value === matrix.value) || isMadeOf(lesson, matrix.value, values);
  const leaving = shown.filter(isMade);
  const arriving = shown.filter((matrix) => !leaving.includes(matrix));
  const list = (texts) => texts.flatMap((text, i) => [i > 0 ? ", " : "", formula(text)]);
  const symbols = (matrices) => matrices.map(({ symbol }) => symbol);
  const line = (key, texts) => element("p", {}, element("strong", { text: `${say(key)}: ` }), list(texts));
  return element(
    "div",
    { class: "what-passes" },
    line("route.arrives", symbols(arriving)),
    line("route.leaves", symbols(leaving)),
  );
}

// Whether a gradient was computed from one of `values`, with no gradient of another value on the way.
function isMadeOf({ tape: { program } }, gradient, values) {
  const isOnWay = (value) => program.gradientOf[value].length === 0;
  const visit = (value) => {
    const op = program.makers[value];
    return Boolean(op?.backward) && op.inputs.some((each) => values.has(each) || (isOnWay(each) && visit(each)));
  };
  return visit(gradient);
}
