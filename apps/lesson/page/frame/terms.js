// Words and symbols that say what they mean when they are pointed at or chosen.
import { element } from "../../../report/page/dom.js";
import { hasText, namesOfTable } from "../../../report/texts/texts.js";
import { languageNow, say } from "../texts/say.js";

// A text with what is known in it marked, each word once.
export const withTerms = (app, text) => marked(app, text, new Set(namesOfTable("word")));

function marked(app, text, left) {
  const isEnglish = languageNow() === "en";
  const written = (name) => say(`word.${name}.name`);
  const words = [...left].map(written);
  const pattern = new RegExp(isEnglish ? `\\b(${words.join("|")})s?\\b` : `(${words.join("|")})`, "i");
  const found = words.length > 0 ? pattern.exec(text) : null;
  if (!found) return [text];
  const name = [...left].find((each) => written(each) === found[1].toLowerCase());
  left.delete(name);
  const before = text.slice(0, found.index);
  const after = text.slice(found.index + found[0].length);
  return [before, termButton(app, found[0], say(`word.${name}.meaning`)), ...marked(app, after, left)];
}

function termButton(app, text, meaning) {
  const button = element("button", { type: "button", class: "term", text });
  return explained(app, button, meaning);
}

// Shows the meaning of an element while it is pointed at or has the focus, which a tap gives it.
export function explained(app, node, meaning) {
  const show = () => {
    const { left, bottom } = node.getBoundingClientRect();
    app.tooltip(meaning, { clientX: left - 12, clientY: bottom - 12 });
  };
  const hide = () => app.tooltip(null);
  node.setAttribute("aria-description", meaning);
  node.addEventListener("pointerenter", show);
  node.addEventListener("focus", show);
  node.addEventListener("pointerleave", hide);
  node.addEventListener("blur", hide);
  node.addEventListener("click", show);
  return node;
}

// What the symbol of a matrix means, or null: "dX_{q,h}" is a part of the gradient of X.
export function meaningOf(symbol) {
  const plain = symbol.replace(/[{}]/g, "").replace("^T", "");
  const known = (name) => (hasText(`symbol.${name}`) ? say(`symbol.${name}`) : null);
  if (known(plain)) return known(plain);
  const isGradient = plain.startsWith("d");
  const whole = isGradient ? plain.slice(1) : plain;
  const base = [whole, whole.replace(/,.*$/, ""), whole.replace(/_.*$/, "")].find(known);
  if (!base) return null;
  return isGradient ? say("matrix.gradient_of", { name: base, meaning: known(base) }) : known(base);
}
