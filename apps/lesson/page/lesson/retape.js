// The tape that a state asks for: a form of the model, then switches, edits, and a planted mistake.
import { mistakeOfCase } from "../chapters/detective.js";
import { Descent, mostSteps, usualRate } from "../tape/descent.js";
import { mistakes } from "../tape/mistakes.js";
import { applySettings } from "../tape/settings.js";
import { prompted } from "./prompt.js";
import { parametersAt } from "./training.js";
import { indexOfTokens } from "./sequences.js";

// What of a state makes the tape with which learning begins.
const namesOfStart = ["form", "settings", "edits", "order", "prompt", "at"];

export function retaped(lesson) {
  const { state } = lesson;
  lesson.engineTape = lesson.forms.tape(state.form);
  const key = JSON.stringify(namesOfStart.map((name) => state[name]));
  const { start } = lesson;
  if (start?.key !== key || start.engineTape !== lesson.engineTape) {
    if (lesson.rightTape?.document !== lesson.engineTape.document) lesson.useTape(lesson.engineTape);
    lesson.start = { key, engineTape: lesson.engineTape, tape: startOf(lesson), descent: null };
  }
  lesson.learning = learningOf(lesson);
  const right = lesson.learning ? lesson.learning.descent.tapeAt(lesson.learning.steps) : lesson.start.tape;
  const mistake = state.case
    ? mistakeOfCase(Number(state.case) || 0, right, state.layer)
    : mistakes.find(({ id }) => id === state.break);
  lesson.planted = mistake?.id ?? null;
  lesson.useTape(mistake ? mistake.plant(right, state.layer) : right, right);
}

function startOf(lesson) {
  const { state } = lesson;
  let tape = lesson.engineTape;
  const earlier = state.form ? null : parametersAt(lesson); // of another step of training
  if (earlier) tape = tape.changed({ values: earlier });
  if (Object.keys(state.settings).length > 0) tape = applySettings(tape, state.settings);
  if (state.prompt && !state.form) tape = prompted(lesson, tape);
  if (state.order) tape = reordered(lesson, tape, state.order);
  const { values } = tape;
  const edits = state.edits.filter(({ value, index }) => index < (values[value]?.data.length ?? 0));
  return edits.length > 0 ? tape.edited(edits) : tape;
}

// Steps of gradient descent, for all parameters; of a part of a model neither these nor the loss are there.
function learningOf({ document, state, start }) {
  if (document.meta.part) return null;
  const most = mostSteps(start.tape);
  const steps = Math.max(0, Math.floor(Math.min(Number(state.learn ?? 0) || 0, most)));
  const wanted = Number(state.rate ?? 0);
  const rate = wanted > 0 && wanted < Infinity ? wanted : usualRate(start.tape);
  if (start.descent?.rate !== rate) start.descent = new Descent(start.tape, rate);
  return { steps, most, rate, descent: start.descent };
}

// The tokens in another order: what is embedded at place i stood at order[i].
function reordered(lesson, tape, order) {
  const index = indexOfTokens(lesson);
  const data = index === undefined ? [] : tape.values[index].data;
  const isPermutation =
    order.length === data.length &&
    new Set(order).size === data.length &&
    order.every((from) => from in data);
  if (!isPermutation) return tape;
  const edits = order.map((from, i) => ({ value: index, index: i, number: data[from] }));
  return tape.edited(edits.filter((edit) => edit.number !== data[edit.index]));
}
