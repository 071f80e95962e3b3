// The tape that a state asks for: a form of the model, then switches, edits, and a planted mistake.
import { mistakeOfCase } from "../chapters/detective.js";
import { descended, usualRate } from "../tape/descent.js";
import { mistakes } from "../tape/mistakes.js";
import { applySettings } from "../tape/settings.js";
import { prompted } from "./prompt.js";
import { parametersAt } from "./training.js";
import { indexOfTokens } from "./sequences.js";

export function retaped(lesson) {
  const { state } = lesson;
  lesson.engineTape = lesson.forms.tape(state.form);
  if (lesson.rightTape?.document !== lesson.engineTape.document) lesson.useTape(lesson.engineTape);
  let tape = lesson.engineTape;
  const earlier = state.form ? null : parametersAt(lesson); // of another step of training
  if (earlier) tape = tape.changed({ values: earlier });
  if (Object.keys(state.settings).length > 0) tape = applySettings(tape, state.settings);
  if (state.prompt && !state.form) tape = prompted(lesson, tape);
  if (state.order) tape = reordered(lesson, tape, state.order);
  const { values } = tape;
  const edits = state.edits.filter(({ value, index }) => index < (values[value]?.data.length ?? 0));
  if (edits.length > 0) tape = tape.edited(edits);
  const learning = learningWanted(lesson, tape);
  lesson.learning = learning && { ...learning, ...descended(tape, learning.steps, learning.rate) };
  if (lesson.learning) tape = lesson.learning.tape;
  const right = tape;
  const mistake = state.case
    ? mistakeOfCase(Number(state.case) || 0, tape, state.layer)
    : mistakes.find(({ id }) => id === state.break);
  lesson.planted = mistake?.id ?? null;
  if (mistake) tape = mistake.plant(tape, state.layer);
  lesson.useTape(tape, right);
}

// Steps of gradient descent, for all parameters; of a part of a model neither these nor the loss are there.
function learningWanted({ document, state, mostSteps }, tape) {
  if (document.meta.part) return null;
  const steps = Math.min(Number(state.learn ?? 0) || 0, mostSteps);
  const rate = Number(state.rate ?? 0);
  return { steps: Math.max(0, Math.floor(steps)), rate: rate > 0 && rate < Infinity ? rate : usualRate(tape) };
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
