// The bar below: switches of the model, planted mistakes.
import { buttonElement, selectElement, sliderElement } from "./elements.js";
import { element } from "../../../report/page/dom.js";
import { attentionLayers } from "../tape/layers.js";
import { mistakes } from "../tape/mistakes.js";
import { isCausalFixed, rulesOf } from "../tape/settings.js";
import { languageNow, say } from "../texts/say.js";

const asRecorded = { form: null, settings: {}, edits: [], break: null, prompt: null, pairs: null };

export function switchBar(app) {
  const { lesson } = app;
  const { state } = lesson;
  const textOf = (x) => JSON.stringify(x ?? null);
  const isChanged = Object.entries(asRecorded).some(([name, x]) => textOf(state[name]) !== textOf(x));
  const { program, values } = lesson.rightTape;
  const layer = app.kept.get("attention", [program, state.layer], () => attentionLayers(program, state.layer)[0]);
  const mask = layer?.mask && values[layer.mask.attributes.mask.value].data;
  const { settings, form, case: number, break: mistake, at } = state;
  const things = [program, mask, isChanged, textOf(settings), form, number, mistake, at, lesson.forms.variants, state.layer];
  return app.kept.get("switches", [languageNow(), ...things], () => switchesNow(app, layer, isChanged));
}

function switchesNow(app, layer, isChanged) {
  const { state } = app.lesson;
  return [
    ...switches(app, layer),
    windowField(app),
    formSelect(app),
    state.case ? null : breakSelect(app),
    trainingField(app),
    isChanged
      ? buttonElement(say("switch.reset"), () => app.go(asRecorded), { class: "reset" })
      : null,
  ].filter(Boolean);
}

function switches(app, layer) {
  const { lesson } = app;
  const { settings } = lesson.state;
  const hasBias = [...lesson.anatomy.byName.keys()].some(
    (name) => name.startsWith(lesson.state.layer) && name.endsWith(".bias"),
  );
  const isFixed = isCausalFixed(lesson.rightTape.program);
  const mask = layer?.mask && lesson.rightTape.values[layer.mask.attributes.mask.value];
  const isMasked = (isFixed ? undefined : settings.causal) ?? Boolean(mask && rulesOf(mask.data, mask.shape).causal);
  const isScaled = settings.scale ?? (layer?.scale?.attributes.factor ?? 1) !== 1;
  return [
    layer?.isSelf ? toggleOf(app, "causal", isMasked, isFixed) : null,
    layer?.isSelf && isFixed ? why("switch.causal_fixed") : null,
    toggleOf(app, "scale", isScaled),
    hasBias ? toggleOf(app, "bias", settings.bias ?? true) : null,
    toggleOf(app, "residual", settings.residual ?? true),
  ];
}

const why = (key) => element("span", { class: "fixed", text: say(key) });

// What is switched back to how it was recorded is no setting any more.
function toggleOf(app, name, isOn, isFixed = false) {
  const change = () => {
    const settings = { ...app.lesson.state.settings };
    if (name in settings) delete settings[name];
    else settings[name] = !isOn;
    app.go({ settings }, { replace: true });
  };
  return element(
    "button",
    {
      type: "button",
      role: "switch",
      "aria-checked": String(isOn),
      disabled: isFixed,
      class: "switch",
      on: { click: change },
    },
    element("i", { "aria-hidden": "true" }),
    say(`switch.${name}`),
  );
}

function windowField(app) {
  const { settings } = app.lesson.state;
  const change = (event) => {
    const { window, ...others } = app.lesson.state.settings;
    const wanted = Math.floor(event.target.valueAsNumber);
    if (!(wanted > 0)) event.target.value = "0";
    app.go({ settings: wanted > 0 ? { ...others, window: wanted } : others }, { replace: true });
  };
  return element(
    "label",
    { class: "window" },
    `${say("switch.window")} `,
    element("input", {
      type: "number",
      min: 0,
      step: 1,
      value: settings.window ?? 0,
      on: { change },
    }),
  );
}

// "model.num_heads=4" in words.
function formText(setting) {
  const [, key, of] = /^[a-z]+\.(?:num_)?(\w+)=(.*)$/.exec(setting);
  return say(`form.${key}`, { of: /^\d/.test(of) ? of : say(`form_of.${of}`) });
}

// Heads, positions and projections. Edits are of the cells of one tape.
function formSelect(app) {
  const { forms, state } = app.lesson;
  if (forms.settings.length === 0) return null;
  const options = [["", say("form.recorded")], ...forms.settings.map((setting) => [setting, formText(setting)])];
  const change = (form) => app.go({ form: form || null, edits: [], cell: null }, { replace: true });
  return element("label", { class: "form" }, `${say("form.title")} `, selectElement(options, state.form, change, { id: "form" }));
}

function breakSelect(app) {
  const { lesson } = app;
  const { state } = lesson;
  const options = [["", say("break.none")], ...mistakeOptions(lesson)];
  const change = (id) => app.go({ break: id || null }, { replace: true });
  return element(
    "label",
    { class: `break${state.break ? " on" : ""}` },
    `${say("mistake.plant")} `,
    selectElement(options, state.break, change),
  );
}

// Those that can be planted in the layer that is open.
export const mistakeOptions = ({ rightTape, state }) =>
  mistakes.filter(({ isPossible }) => isPossible(rightTape, state.layer)).map(({ id }) => [id, say(`break.${id}`)]);

// A step of training, whose parameters every chapter then has.
function trainingField(app) {
  const { training, state, document } = app.lesson;
  const steps = training.steps.filter((_, i) => training.parameters[i]);
  if (steps.length < 2) return null;
  const now = steps.includes(Number(state.at)) ? Number(state.at) : document.meta.step;
  const slider = sliderElement(say("training.step"), steps.length, Math.max(0, steps.indexOf(now)), {
    "aria-valuetext": String(now),
    on: { change: () => app.go({ at: String(steps[slider.valueAsNumber]) }, { replace: true }) },
  });
  return element("label", { class: `training-field${now === document.meta.step ? "" : " on"}` }, `${say("training.step")} ${now} `, slider);
}
