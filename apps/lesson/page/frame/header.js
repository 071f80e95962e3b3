// The top of the page: what is explained, whether it was checked, language and looks.
import { buttonElement } from "./elements.js";
import { element } from "../../../report/page/dom.js";
import { learningNote } from "./learning.js";
import { showKeys } from "./keys.js";
import { shortNumber } from "../ops/numbers.js";
import { languageNow, say } from "../texts/say.js";

const mostUntrained = 3;

export function header(app) {
  const { lesson, found } = app;
  const { meta } = lesson.document;
  const language = languageNow();
  const loss = app.kept.get("loss", [], () => element("span", { class: "loss" }));
  const text = lossText(lesson);
  if (loss.textContent !== text) loss.textContent = text;
  return [
    ...app.kept.get("name", [language], () => [
      element(
        "div",
        { class: "name" },
        element("h1", { text: meta.name }),
        element("span", { class: "subtitle", text: say("page.title") }),
      ),
      checkedText(found),
    ]),
    loss,
    ...[learningNote(app)].filter(Boolean),
    ...warnings(lesson),
    app.kept.get("looks", [language, app.isPresenting, app.isDark], () => lookButtons(app)),
  ];
}

// A page without numbers of the engine has nothing to show that it is right.
function checkedText({ compared, difference }) {
  const isChecked = compared > 0;
  const told = isChecked ? say("page.recomputed", { count: compared, difference: shortNumber(difference) }) : null;
  return element("span", {
    class: `checked ${isChecked ? "good" : "bad"}`,
    id: "recomputed",
    role: "note",
    "aria-label": told,
    title: told,
    text: isChecked ? "✓" : say("page.not_compared"),
  });
}

function lossText({ tape, engineTape, forms, document }) {
  const { meta } = document;
  if (!meta.part) return changed("page.loss", tape.loss(), forms.recorded.loss());
  // A part has Σ dY ∘ Y in place of the loss.
  if (tape !== engineTape) return changed("page.loss_of_part", tape.loss(), engineTape.loss());
  return changed("page.loss", engineTape.document.whole_loss ?? meta.loss, meta.loss);
}

// What the numbers of this page are not.
function warnings({ engineTape, tape, document }) {
  const texts = [];
  const untrained = engineTape.document.untrained ?? document.meta.untrained ?? [];
  if (untrained.length > 0) {
    const names = untrained.slice(0, mostUntrained).join(", ");
    const more = untrained.length - mostUntrained;
    texts.push(say("page.untrained", { names: more > 0 ? say("page.names_and_more", { names, more }) : names }));
  }
  if (!Number.isFinite(tape.loss())) texts.push(say("page.loss_not_finite"));
  return texts.map((text) =>
    element("span", { class: "warning", title: untrained.join(", "), text }),
  );
}

function changed(what, now, before) {
  const text = `${say(what)} ${shortNumber(now)}`;
  return Object.is(now, before) ? text : say("page.was_before", { text, before: shortNumber(before) });
}

function lookButtons(app) {
  const isStage = app.isPresenting;
  const isChinese = languageNow() === "zh";
  const go = (changes) => () => app.go(changes, { replace: true });
  const named = (name) => ({ "aria-label": name, title: name });
  return element(
    "div",
    { class: "looks" },
    buttonElement(say("page.presenter"), go({ style: isStage ? null : "large" }), { "aria-pressed": String(isStage) }),
    buttonElement("?", showKeys, named(say("keys.title"))),
    buttonElement(app.isDark ? "☀" : "☾", go({ theme: app.isDark ? "light" : "dark" }), named(say("page.theme"))),
    buttonElement(say("page.other_language"), go({ lang: isChinese ? "en" : "zh" }), { lang: isChinese ? "en" : "zh" }),
  );
}
