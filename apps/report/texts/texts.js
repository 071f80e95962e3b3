// The texts of a page in both languages, as the program puts them into it: {KEY: [English, 中文]}.

let textsOfPage = null;

export function useTexts(texts) {
  textsOfPage = texts;
}

function allTexts() {
  textsOfPage ??= JSON.parse(document.getElementById("texts").textContent);
  return textsOfPage;
}

export const hasText = (key) => Object.hasOwn(allTexts(), key);

// [English, 中文], with {name} in the place of values.
export function bothOf(key, values = {}) {
  if (!hasText(key)) throw new Error(`there is no text ${key}`);
  return allTexts()[key].map((text) =>
    text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole)),
  );
}

// The names of a table: "gradient" of [word.gradient].
export function namesOfTable(table) {
  const inside = Object.keys(allTexts()).filter((key) => key.startsWith(`${table}.`));
  return [...new Set(inside.map((key) => key.split(".")[1]))];
}
