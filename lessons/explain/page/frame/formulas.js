// Formulas in MathML from one line of text: "dS = P ∘ (dP - rowsum(P ∘ dP))",
// "frac{Q K^T}{sqrt{d_k}}".
import { mathElement } from "./dom.js";

const tokenPattern = /\s*(frac|sqrt|[A-Za-zα-ωℓ]+|[0-9.]+|[{}_^]|[^\s])/gu;

function tokensOf(text) {
  return [...text.matchAll(tokenPattern)].map((match) => match[1]);
}

const row = (parts) => (parts.length === 1 ? parts[0] : mathElement("mrow", {}, parts));

// dQ is d and Q; a name of several letters stands upright.
function nameIn(token) {
  if (token.length === 2 && token[0] === "d") {
    return mathElement(
      "mrow",
      {},
      mathElement("mi", { mathvariant: "normal", text: "d" }),
      mathElement("mi", { text: token[1] }),
    );
  }
  if (token === "dlogits") {
    const d = mathElement("mi", { mathvariant: "normal", text: "d" });
    return mathElement("mrow", {}, d, mathElement("mi", { text: "logits" }));
  }
  return mathElement("mi", { text: token });
}

class FormulaReader {
  constructor(text) {
    this.tokens = tokensOf(text);
    this.at = 0;
  }

  sequence(end) {
    const parts = [];
    while (this.at < this.tokens.length && this.tokens[this.at] !== end)
      parts.push(this.scripted());
    this.at++;
    return row(parts);
  }

  // An atom with what hangs on it: W_q^T.
  scripted() {
    const base = this.atom();
    let below = null;
    let above = null;
    while (this.tokens[this.at] === "_" || this.tokens[this.at] === "^") {
      const sign = this.tokens[this.at++];
      if (sign === "_") below = this.atom();
      else above = this.atom();
    }
    if (below && above) return mathElement("msubsup", {}, base, below, above);
    if (below) return mathElement("msub", {}, base, below);
    return above ? mathElement("msup", {}, base, above) : base;
  }

  atom() {
    const token = this.tokens[this.at++] ?? "";
    if (token === "{") return this.sequence("}");
    if (token === "frac") {
      this.at++;
      const above = this.sequence("}");
      this.at++;
      return mathElement("mfrac", {}, above, this.sequence("}"));
    }
    if (token === "sqrt") {
      this.at++;
      return mathElement("msqrt", {}, this.sequence("}"));
    }
    if (/^[A-Za-zα-ωℓ]/u.test(token)) return nameIn(token);
    if (/^[0-9]/.test(token)) return mathElement("mn", { text: token });
    return mathElement("mo", { text: token === "-" ? "−" : token });
  }
}

export function formula(text) {
  return mathElement(
    "math",
    { "aria-label": text, displaystyle: "true" },
    new FormulaReader(text).sequence(),
  );
}
