// Questions and answers with which the page trains a model from nothing, and what of it `qkv train` is told.
import { applySettings } from "../tape/settings.js";

// Their tape, with the answers and the model of the state.
export function practiceOf(lesson) {
  const { forms, state } = lesson;
  const recorded = forms.practice(state.form);
  const set = Object.keys(state.settings).length > 0 ? applySettings(recorded, state.settings) : recorded;
  return withAnswers(set, answersOf(lesson, questionsOf(recorded)));
}

const valueNamed = ({ facts }, name) => facts.findIndex((fact) => fact.name === name);

// {tokens, targets: values, width, first, rows: [{question, answer: tokens, isLearned}]}: the row of a question is the
// question, what ends it, and the answer, whose targets begin at `first`.
export function questionsOf(tape) {
  const [tokens, targets] = ["tokens", "targets"].map((name) => valueNamed(tape, name));
  const [count, width] = tape.facts[tokens].shape;
  const [read, wanted] = [tokens, targets].map((value) => tape.values[value].data);
  const first = wanted.findIndex((target) => target >= 0) % width;
  const rows = Array.from({ length: count }, (_, row) => {
    const own = read.subarray(row * width, (row + 1) * width);
    const isLearned = wanted[row * width + first] >= 0;
    return { question: [...own.subarray(0, first)], answer: [...own.subarray(first + 1)], isLearned };
  });
  return { tokens, targets, width, first, rows };
}

// The answers that the state wants, of known symbols and as many as there are; else those of the document.
function answersOf({ state, document }, { rows }) {
  const { vocabulary } = document.meta;
  const wanted = (state.pairs ?? "").split(".").map((text) => [...text].map((symbol) => vocabulary.indexOf(symbol)));
  const isGood = wanted.length === rows.length && wanted.every((answer, row) => isAnswer(answer, rows[row]));
  return isGood ? wanted : rows.map(({ answer }) => answer);
}

export const isAnswer = (tokens, { answer }) => tokens.length === answer.length && tokens.every((token) => token >= 0);

function withAnswers(tape, answers) {
  const { tokens, targets, width, first, rows } = questionsOf(tape);
  const [read, wanted] = [tokens, targets].map((value) => tape.values[value].data.slice());
  answers.forEach((answer, row) => {
    read.set(answer, row * width + first + 1);
    if (rows[row].isLearned) wanted.set(answer, row * width + first);
  });
  const { facts } = tape;
  /** @returns {[number, any]} */
  const number = (value, data) => [value, { shape: facts[value].shape, data }];
  return tape.changed({ values: new Map([number(tokens, read), number(targets, wanted)]) });
}

// What the model answers to each question, a token after each of the right ones before it: [[token, …], …].
export function answersNow(tape, { width, first, rows }) {
  const logits = tape.facts.findIndex(({ paths }) => paths?.includes("logits"));
  const classes = tape.facts[logits].shape.at(-1);
  const { data } = tape.values[logits];
  return rows.map(({ answer }, row) =>
    answer.map((_, i) => {
      const from = (row * width + first + i) * classes;
      const shares = data.subarray(from, from + classes);
      return shares.indexOf(Math.max(...shares));
    }),
  );
}

// The command that trains the same, beside the page's files; null where `qkv train` knows nothing of the kind.
export function commandOf({ state, document }) {
  const { causal, window, scale, ...others } = state.settings;
  if (state.break || state.case || state.edits.length > 0 || Object.keys(others).length > 0) return null;
  const keys = { "attention.causal": causal, "attention.window": window, "model.scale_scores": scale };
  const settings = Object.entries({ ...keys, "optimizer.learning_rate": state.rate ?? undefined });
  const changed = settings.filter(([, x]) => x !== undefined).map(([key, x]) => `${key}=${x}`);
  const { name } = document.meta;
  return [`./qkv train ${name}.toml`, ...[state.form, ...changed].filter(Boolean).map((each) => `--set ${each}`)].join(" ");
}
