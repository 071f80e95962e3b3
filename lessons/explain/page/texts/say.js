// Every text of the page, in English and 中文.
import { cellTexts } from "./cell.js";
import { graphTexts } from "./graph.js";
import { pageTexts } from "./words.js";

const languages = ["en", "zh"];
export const wordTexts = { ...pageTexts, ...cellTexts, ...graphTexts };
let language = "en";

export function useLanguage(wanted) {
  language = languages.includes(wanted) ? wanted : "en";
  return language;
}

export function languageNow() {
  return language;
}

// A text with {name} in the place of values.
export function say(key, values = {}) {
  const text = wordTexts[key]?.[languages.indexOf(language)];
  return text === undefined ? key : filledIn(text, values);
}

function filledIn(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

// Of [English, 中文].
export const inLanguage = (pair) => pair?.[languages.indexOf(language)] ?? "";

// {name, what, why} of a step.
export function stepText({ id, texts }) {
  return {
    name: inLanguage(texts.name) || id,
    what: inLanguage(texts.what),
    why: inLanguage(texts.why),
  };
}
