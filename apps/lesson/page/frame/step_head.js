// Above the matrices: the name of the step, layer and head, what it is and why, and a question.
import { caseBanner } from "../chapters/detective.js";
import { neighbours } from "./contents.js";
import { element, saveText } from "../../../report/page/dom.js";
import { invariantMarks } from "./invariants.js";
import { ledgerTable } from "./ledger_table.js";
import { mistakeNote } from "./mistake_note.js";
import { layerName } from "../lesson/layer_name.js";
import { numpyScript } from "../matrix/numpy_script.js";
import { withTerms } from "./terms.js";
import { whatPasses } from "./way_back.js";
import { say, stepText } from "../texts/say.js";

export function stepHead(app) {
  const { lesson } = app;
  const { step } = lesson;
  const text = stepText(step);
  return [
    element(
      "div",
      { class: "step-bar" },
      element("h2", { text: text.name }),
      lesson.layers.length > 1 ? layerSelect(app) : null,
      isOfHeads(lesson) ? headTabs(app) : null,
      step.layout ? zoomButton(app) : null,
      step.layout ? numpyButton(app) : null,
      stepButtons(app),
    ),
    element(
      "div",
      { class: "said" },
      element("p", {}, element("strong", { text: text.what }), " ", withTerms(app, text.why)),
      questionOf(app),
      step.invariants ? invariantMarks(app, step.invariants) : null,
      caseBanner(app),
      mistakeNote(app),
      step.shares ? ledgerTable(app) : null,
      lesson.state.route === "back" && step.layout ? whatPasses(lesson) : null,
    ),
  ];
}

// Whether it shows one head of several.
const isOfHeads = (lesson) =>
  lesson.heads > 1 && lesson.matrices().some(({ forward }) => forward?.grid.heads > 1);

function layerSelect(app) {
  const { lesson } = app;
  const options = lesson.layers.map((path) =>
    element("option", { value: path, selected: path === lesson.state.layer, text: layerName(path) }),
  );
  const change = (event) => app.go({ layer: event.target.value, cell: null });
  return element("select", { "aria-label": say("layer.title"), class: "layer", on: { change } }, options);
}

function headTabs(app) {
  const { lesson } = app;
  const { heads } = lesson;
  const tabs = Array.from({ length: heads }, (_, head) =>
    element("button", {
      type: "button",
      "aria-pressed": String(head === lesson.state.head),
      "aria-label": say("head.of", { head, heads }),
      text: String(head),
      on: { click: () => app.go({ head }, { replace: true }) },
    }),
  );
  return element(
    "div",
    { class: "heads", role: "group", "aria-label": say("head.title") },
    element("span", { text: say("head.title") }),
    tabs,
  );
}

function zoomButton(app) {
  const isOn = app.lesson.state.zoom === "numbers";
  return element("button", {
    type: "button",
    class: "zoom",
    "aria-pressed": String(isOn),
    text: say("matrix.zoom"),
    on: { click: () => app.go({ zoom: isOn ? "fit" : "numbers" }, { replace: true }) },
  });
}

function numpyButton(app) {
  const { lesson } = app;
  return element("button", {
    type: "button",
    class: "numpy",
    text: "NumPy",
    title: say("matrix.numpy"),
    on: { click: () => saveText(`${lesson.step.id}.py`, numpyScript(lesson), "text/x-python") },
  });
}

function stepButtons(app) {
  const { back, next } = neighbours(app.lesson);
  const button = (step, key, sign) =>
    element("button", {
      type: "button",
      disabled: !step,
      "aria-label": say(key),
      title: step ? stepText(step).name : null,
      text: sign,
      on: { click: () => app.go({ step: step.id, cell: null }) },
    });
  return element("div", { class: "moves" }, button(back, "step.back", "←"), button(next, "step.next", "→"));
}

// The first whose premise holds.
export function questionNow(lesson) {
  const { questions = [] } = lesson.step;
  return questions.find(({ holds }) => holds?.(lesson) ?? true) ?? null;
}

function questionOf(app) {
  const question = questionNow(app.lesson);
  if (!question) return null;
  return element(
    "details",
    { class: "question" },
    element("summary", { text: say(`${question.key}.ask`) }),
    element("p", {}, withTerms(app, say(`${question.key}.answer`))),
  );
}
