// The tape that a state asks for: switches, then edits, then a planted mistake.
import { mistakes } from "./mistakes.js";
import { applySettings } from "./settings.js";

export function retaped(lesson) {
  const { state, engineTape } = lesson;
  let tape = engineTape;
  if (Object.keys(state.settings).length > 0) tape = applySettings(tape, state.settings);
  if (state.order) tape = reordered(lesson, tape, state.order);
  const { values } = tape;
  const edits = state.edits.filter(({ value, index }) => index < (values[value]?.data.length ?? 0));
  if (edits.length > 0) tape = tape.edited(edits);
  const right = tape;
  const mistake = mistakes.find(({ id }) => id === state.break);
  if (mistake) tape = mistake.plant(tape, state.layer);
  lesson.useTape(tape, right);
}

// The tokens in another order: the rows of the inputs of the first blocks.
function reordered(lesson, tape, order) {
  return tape;
}
