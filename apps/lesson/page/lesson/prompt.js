// A text of the reader's own, as long as that of the document: other tokens, and targets that follow them.
import { indexOfTokens } from "./sequences.js";

// The tokens that the state wants, or null: of a sequence model, and as many as there are.
export function promptOf({ document, state }) {
  const { texts = {}, vocabulary = [] } = document.meta;
  const wanted = (state.prompt ?? "").split(".").filter(Boolean).map(Number);
  const isOne = texts.tokens && wanted.length === texts.tokens.length;
  return isOne && wanted.every((token) => token in vocabulary) ? wanted : null;
}

export const canHavePrompt = ({ document }) =>
  Boolean(document.meta.texts?.tokens) && !document.meta.part && document.meta.vocabulary.length > 1;

// The texts, as the state has them. A target that was the next token is the next token again.
export function textsNow(lesson) {
  const { texts = {}, vocabulary } = lesson.document.meta;
  const prompt = promptOf(lesson);
  if (!prompt) return texts;
  const tokens = prompt.map((token) => vocabulary[token]);
  const follows = (i) => texts.targets?.[i] !== null && texts.targets?.[i] === texts.tokens[i + 1];
  const targets = texts.targets?.map((target, i) => (follows(i) ? tokens[i + 1] : target));
  return { ...texts, tokens, ...(targets ? { targets } : {}) };
}

// The tape that reads these tokens.
export function prompted(lesson, tape) {
  const prompt = promptOf(lesson);
  const tokens = indexOfTokens(lesson);
  if (!prompt || tokens === undefined) return tape;
  const { texts, vocabulary } = lesson.document.meta;
  const edits = changedByPrompt(tape, tokens, prompt);
  const targets = lesson.anatomy.at("targets");
  if (targets !== undefined && texts.targets) {
    const wanted = textsNow(lesson).targets.map((text, i) =>
      text === texts.targets[i] ? tape.number(targets, i) : vocabulary.indexOf(text),
    );
    edits.push(...changedByPrompt(tape, targets, wanted));
  }
  return edits.length > 0 ? tape.edited(edits) : tape;
}

function changedByPrompt(tape, value, numbers) {
  return numbers
    .map((number, index) => ({ value, index, number }))
    .filter(({ index, number }) => number !== tape.number(value, index));
}
