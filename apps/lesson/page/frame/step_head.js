// Above the matrices: the name of the step, layer and head, what it is and why, and a question.
import { buttonElement, selectElement } from "./elements.js";
import { caseBanner } from "../chapters/detective.js";
import { neighbours } from "./contents.js";
import { element, saveText } from "../../../report/page/dom.js";
import { formula } from "../../../report/page/formula.js";
import { invariantMarks } from "./invariants.js";
import { ledgerTable } from "./ledger_table.js";
import { mistakeNote } from "./mistake_note.js";
import { layerName } from "../lesson/layer_name.js";
import { numpyScript } from "../matrix/numpy_script.js";
import { withTerms } from "./terms.js";
import { languageNow, say, stepText } from "../texts/say.js";

export function stepHead(app) {
  const { lesson } = app;
  const { step, state } = lesson;
  const text = stepText(step);
  const language = languageNow();
  const hasHeads = isOfHeads(lesson);
  const bar = () =>
    element(
      "div",
      { class: "step-bar" },
      element("h2", { text: text.name }),
      lesson.layers.length > 1 && !step.choosesLayer ? layerSelect(app) : null,
      hasHeads ? headTabs(app) : null,
      step.layout ? zoomButton(app) : null,
      step.layout ? numpyButton(app) : null,
      stepButtons(app),
    );
  const what = () => element("p", {}, element("strong", { text: text.what }), " ", withTerms(app, text.why));
  const said = [
    app.kept.get("what", [step, language], what),
    questionOf(app),
    step.invariants ? invariantMarks(app, step.invariants) : null,
    caseBanner(app),
    mistakeNote(app),
    step.shares ? ledgerTable(app) : null,
    state.route === "back" && step.layout ? whatPasses(lesson) : null,
  ];
  return [
    app.kept.get("bar", [step, language, state.head, state.zoom, state.route, hasHeads], bar),
    app.kept.get("said", said, () => element("div", { class: "said" }, said)),
  ];
}

// Whether it shows one head of several.
const isOfHeads = (lesson) =>
  lesson.heads > 1 && lesson.matrices().some(({ forward }) => forward?.grid.heads > 1);

function layerSelect(app) {
  const { layers, state } = app.lesson;
  const options = layers.map((path) => [path, layerName(path)]);
  const change = (layer) => app.go({ layer, cell: null });
  return selectElement(options, state.layer, change, { "aria-label": say("layer.title"), class: "layer" });
}

function headTabs(app) {
  const { heads, state } = app.lesson;
  const tabs = Array.from({ length: heads }, (_, head) =>
    buttonElement(String(head), () => app.go({ head }, { replace: true }), {
      "aria-pressed": String(head === state.head),
      "aria-label": say("head.of", { head, heads }),
    }),
  );
  const name = say("head.title");
  return element("div", { class: "heads", role: "group", "aria-label": name }, element("span", { text: name }), tabs);
}

function zoomButton(app) {
  const isOn = app.lesson.state.zoom === "numbers";
  const change = () => app.go({ zoom: isOn ? "fit" : "numbers" }, { replace: true });
  return buttonElement(say("matrix.zoom"), change, { class: "zoom", "aria-pressed": String(isOn) });
}

function numpyButton({ lesson }) {
  const save = () => saveText(`${lesson.step.id}.py`, numpyScript(lesson), "text/x-python");
  return buttonElement("NumPy", save, { class: "numpy", title: say("matrix.numpy") });
}

function stepButtons(app) {
  const { back, next } = neighbours(app.lesson);
  const move = (step, key, sign) =>
    buttonElement(sign, () => app.go({ step: step.id, cell: null }), {
      disabled: !step,
      "aria-label": say(key),
      title: step ? stepText(step).name : null,
    });
  return element("div", { class: "moves" }, move(back, "step.back", "←"), move(next, "step.next", "→"));
}

// The first whose premise holds.
export function questionNow(lesson) {
  const { questions = [] } = lesson.step;
  return questions.find(({ holds }) => holds?.(lesson) ?? true) ?? null;
}

function questionOf(app) {
  const question = questionNow(app.lesson);
  if (!question) return null;
  const { key } = question;
  return app.kept.get("question", [app.lesson.step, key, languageNow()], () =>
    element(
      "details",
      { class: "question" },
      element("summary", { text: say(`${key}.ask`) }),
      element("p", {}, withTerms(app, say(`${key}.answer`))),
    ),
  );
}

// On the way back: of a step what arrives, and what leaves.
// By the tape: what none of the other gradients here went into has arrived.
export function whatPasses(lesson) {
  const gradients = lesson.matrices().map(({ backward }) => backward);
  const shown = gradients.filter((backward) => backward?.symbol.startsWith("d"));
  if (shown.length < 2) return null;
  const values = new Set(shown.map(({ value }) => value));
  const isMade = (matrix, i) =>
    matrix.derived || shown.slice(i + 1).some(({ value }) => value === matrix.value) || isMadeOf(lesson, matrix.value, values);
  const leaving = shown.filter(isMade);
  const arriving = shown.filter((matrix) => !leaving.includes(matrix));
  if (leaving.length === 0) return null; // a cut passes them all
  const list = (matrices) => matrices.flatMap(({ symbol }, i) => [i > 0 ? ", " : "", formula(symbol)]);
  const line = (key, matrices) => element("p", {}, element("strong", { text: `${say(key)}: ` }), list(matrices));
  return element("div", { class: "what-passes" }, line("route.arrives", arriving), line("route.leaves", leaving));
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
