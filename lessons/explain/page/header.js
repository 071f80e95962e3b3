// The top of the page: what is explained, whether it was checked, language and looks.
import { element } from "./dom.js";
import { shortNumber } from "./numbers.js";
import { languageNow, say } from "./texts.js";

export function header(app) {
  const { lesson, found } = app;
  const { meta } = lesson.document;
  return [
    element(
      "div",
      { class: "name" },
      element("h1", { text: meta.name }),
      element("span", { class: "subtitle", text: say("title") }),
    ),
    element("span", {
      class: "checked good",
      id: "recomputed",
      title: say("recomputed_title", { count: found.compared }),
      text: `${say("recomputed", { difference: shortNumber(found.difference) })} ✓`,
    }),
    element("span", { class: "loss", text: lossText(lesson) }),
    element(
      "div",
      { class: "looks" },
      toggle(app, "style", "large", say("presenter")),
      themeButton(app),
      languageButton(app),
    ),
  ];
}

function lossText({ tape, forms }) {
  const [now, before] = [tape.loss(), forms.recorded.loss()];
  if (Object.is(now, before)) return `${say("loss")} ${shortNumber(now)}`;
  return say("loss_before", { now: shortNumber(now), before: shortNumber(before) });
}

function toggle(app, name, value, text) {
  const isOn = app.lesson.state[name] === value;
  return element("button", {
    type: "button",
    "aria-pressed": String(isOn),
    text,
    on: { click: () => app.go({ [name]: isOn ? null : value }, { replace: true }) },
  });
}

function themeButton(app) {
  const isDark =
    app.lesson.state.theme === "dark" ||
    (!app.lesson.state.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  return element("button", {
    type: "button",
    "aria-label": say("theme"),
    title: say("theme"),
    text: isDark ? "☀" : "☾",
    on: { click: () => app.go({ theme: isDark ? "light" : "dark" }, { replace: true }) },
  });
}

function languageButton(app) {
  const isChinese = languageNow() === "zh";
  return element("button", {
    type: "button",
    lang: isChinese ? "en" : "zh",
    text: isChinese ? "English" : "中文",
    on: { click: () => app.go({ lang: isChinese ? "en" : "zh" }, { replace: true }) },
  });
}
