// The tape that a state asks for: a form of the model, then switches, edits, and a planted mistake.
import { mistakeOfCase } from "../chapters/detective.js";
import { adamStep, gradientStep, mostSteps, usualRate, withParameters } from "../tape/descent.js";
import { mistakes } from "../tape/mistakes.js";
import { applySettings } from "../tape/settings.js";
import { practiceOf } from "./practice.js";
import { prompted } from "./prompt.js";
import { parametersAt } from "./training.js";

// What of a state makes the tape with which learning begins.
const namesOfStart = ["form", "settings", "edits", "prompt", "pairs", "at"];
// What of it makes the questions and the model that a page trains.
const namesOfPractice = ["form", "settings", "pairs"];

export function retaped(lesson) {
  const { state, kept } = lesson;
  lesson.engineTape = lesson.forms.tape(state.form);
  const key = JSON.stringify(namesOfStart.map((name) => state[name]));
  lesson.start = kept.get("start", [key, lesson.engineTape], () => {
    if (lesson.rightTape?.document !== lesson.engineTape.document) lesson.useTape(lesson.engineTape);
    return { tape: startOf(lesson) };
  });
  const { start } = lesson;
  const mistake = state.case
    ? kept.get("case", [state.case, start.tape, state.layer], () => mistakeOfCase(Number(state.case) || 0, start.tape, state.layer))
    : mistakes.find(({ id }) => id === state.break);
  lesson.planted = mistake?.id ?? null;
  // With a mistake the model learns by the wrong gradients.
  const plant = (tape) => (mistake ? mistake.plant(tape, state.layer) : tape);
  lesson.learning = learningOf(lesson, plant);
  const steps = lesson.learning?.steps ?? 0;
  const { learned } = lesson;
  const tape = steps > 0 ? kept.get("learned tape", [learned, steps], () => lesson.descent.tapeAt(steps)) : learned?.first;
  const after = () => withParameters(start.tape, lesson.descent.points[steps].parameters);
  const isApart = start.practice || mistake; // from what is learned
  const moved = isApart && steps > 0 ? kept.get("moved tape", [start.tape, learned, steps], after) : start.tape;
  const right = isApart ? moved : tape ?? start.tape;
  if (lesson.learning) lesson.learning.tape = tape;
  lesson.useTape(kept.get("planted tape", [right, mistake, state.layer], () => plant(right)), right);
}

function startOf(lesson) {
  const { state } = lesson;
  let tape = lesson.engineTape;
  const earlier = state.form ? null : parametersAt(lesson); // of another step of training
  if (earlier) tape = tape.changed({ values: earlier });
  if (Object.keys(state.settings).length > 0) tape = applySettings(tape, state.settings);
  if (state.prompt && !state.form) tape = prompted(lesson, tape);
  const { values } = tape;
  const edits = state.edits.filter(({ value, index }) => index < (values[value]?.data.length ?? 0));
  return edits.length > 0 ? tape.edited(edits) : tape;
}

// Steps of learning, for all parameters; of a part of a model neither these nor the loss are there. A page that trains
// learns all questions by Adam, others their one example.
function learningOf(lesson, plant) {
  const { document, state, start, planted } = lesson;
  if (document.meta.part) return null;
  const { optimizer } = document.practice ?? {};
  const most = mostSteps(start.tape);
  const steps = Math.max(0, Math.floor(Math.min(Number(state.learn ?? 0) || 0, most)));
  const wanted = Number(state.rate ?? 0);
  // The usual rate needs every gradient, so nobody has it before he asks for it.
  const rateNow = () => (wanted > 0 && wanted < Infinity ? wanted : optimizer?.learning_rate ?? usualRate(start.tape));
  const names = optimizer ? namesOfPractice : namesOfStart;
  const key = JSON.stringify([names.map((name) => state[name]), wanted, planted, planted && state.layer]);
  lesson.learned = lesson.kept.get("learned", [key, lesson.engineTape], () => {
    const practice = optimizer ? practiceOf(lesson) : null;
    const move = () => (optimizer ? adamStep(rateNow(), optimizer) : gradientStep(rateNow()));
    return { practice, first: plant(practice ?? start.tape), move };
  });
  start.practice = lesson.learned.practice;
  return {
    steps,
    most,
    get rate() {
      return rateNow();
    },
  };
}
