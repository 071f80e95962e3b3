// The texts of the page in the language that is chosen.
import { bothOf } from "../../../report/texts/texts.js";

const languages = ["en", "zh"];
let language = "en";

export function useLanguage(wanted) {
  language = languages.includes(wanted) ? wanted : "en";
  return language;
}

export function languageNow() {
  return language;
}

// A text by its key, with {name} in the place of values.
export const say = (key, values = {}) => bothOf(key, values)[languages.indexOf(language)];

// {name, what, why} of a step.
export function stepText({ id, texts = id, why, said = {} }) {
  return { name: say(`${texts}.name`, said), what: say(`${texts}.what`, said), why: say(why ?? `${texts}.why`) };
}
