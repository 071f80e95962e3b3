// Formulas in MathML from one line of text: "dS = P ∘ (dP - rowsum(P ∘ dP))",
// "frac{Q K^T}{sqrt{d_k}}". ^T is a transpose, x̂ an accent, Σ_t a sum over t.
import { mathElement } from "./dom.js";

const tokenPattern = /(\s*)(frac|sqrt|[A-Za-z]\u0302|[A-Za-zα-ωℓ]+|[0-9.]+|[{}_^]|[^\s])/gu;
const isName = (token = "") => /^[A-Za-zα-ωℓ0-9]/u.test(token);
const opening = ["=", "(", "[", ",", "{"]; // a sign after these is no difference
const accent = "\u0302";

function tokensOf(text) {
  return [...text.matchAll(tokenPattern)].map(([, space, token]) => ({ token, space: space !== "" }));
}

const row = (parts) => (parts.length === 1 ? parts[0] : mathElement("mrow", {}, parts));
const name = (text) => mathElement("mi", { text });

// dQ is d and Q, x̂ is x with an accent; a name of several letters stands upright.
function nameIn(token) {
  if (token.endsWith(accent)) {
    return mathElement("mover", { accent: "true" }, name(token[0]), mathElement("mo", { text: "^" }));
  }
  const isGradient = token[0] === "d" && (token.length === 2 || token === "dlogits");
  if (!isGradient) return name(token);
  const d = mathElement("mi", { mathvariant: "normal", text: "d" });
  return mathElement("mrow", {}, d, nameIn(token.slice(1)));
}

class FormulaReader {
  constructor(text) {
    this.tokens = tokensOf(text);
    this.at = 0;
  }

  get next() {
    return this.tokens[this.at]?.token;
  }

  sequence(end) {
    const parts = [];
    while (this.at < this.tokens.length && this.next !== end) {
      if (this.isProduct()) parts.push(mathElement("mspace", { width: "0.17em" }));
      parts.push(this.scripted());
    }
    this.at++;
    return row(parts);
  }

  // Two names with a space between.
  isProduct() {
    const { token, space } = this.tokens[this.at];
    const before = this.tokens[this.at - 1]?.token;
    return space && isName(token) && (isName(before) || before === "}");
  }

  // An atom with what hangs on it: W_q^T.
  scripted() {
    const isSum = this.next === "Σ";
    const base = this.atom();
    let below = null;
    let above = null;
    while (this.next === "_" || this.next === "^") {
      const sign = this.tokens[this.at++].token;
      if (sign === "_") below = this.atom();
      else above = this.next === "T" ? this.transpose() : this.atom();
    }
    if (below && above) return mathElement("msubsup", {}, base, below, above);
    if (below) return mathElement(isSum ? "munder" : "msub", {}, base, below);
    return above ? mathElement("msup", {}, base, above) : base;
  }

  transpose() {
    this.at++;
    return mathElement("mo", { text: "⊤" });
  }

  atom() {
    const token = this.next ?? "";
    this.at++;
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
    return this.operator(token);
  }

  operator(token) {
    const before = this.tokens[this.at - 2]?.token;
    const isSign = token === "-" && (before === undefined || opening.includes(before));
    return mathElement("mo", {
      text: token === "-" ? "−" : token,
      form: isSign ? "prefix" : null,
      stretchy: "()[]".includes(token) ? "false" : null,
    });
  }
}

export function formula(text) {
  return mathElement(
    "math",
    { "aria-label": text, displaystyle: "true" },
    new FormulaReader(text).sequence(),
  );
}
