// Formulas in MathML from one line of text: "S = Q Kᵀ / √d_k", "p_i = e^z_i / Σ_c e^z_c". A / between
// spaces is a fraction where it is clear what belongs to it. ^T is a transpose as ᵀ is, x̂ an accent, and
// what braces hold below a sign is there without them.
import { element, mathElement } from "./dom.js";

const formulaToken = /(\s*)(d?(?![A-Za-zΣΠᵀ])\p{L}|d?[A-Za-z]\u0302|[A-Za-z]+|[0-9][0-9.]*|\S)/gu;
const sums = ["Σ", "Π"];
const brackets = { "(": ")", "[": "]", "{": "}" };
const raisedSigns = { "²": "2", "³": "3", ᵀ: "⊤", "'": "′", "′": "′" };
const betweenTerms = ["=", "≤", "≥", "≠", "<", ">", "≈", "→", "~", ",", ";", ":", "+", "-", "±", "…"];
const relations = ["=", "≤", ",", ":"]; // after which a sign is no difference

const isName = (token) => /^\p{L}/u.test(token) && !sums.includes(token) && token !== "ᵀ";
const isNumber = (token) => /^[0-9]/.test(token);

class NotUnderstood extends Error {}

const inRow = (made) => (made.length === 1 ? made[0] : mathElement("mrow", {}, made));
const mathName = (text) => mathElement("mi", { text });
const mathSign = (sign, more = {}) => mathElement("mo", { text: sign === "-" ? "−" : sign, ...more });
const madeOf = (parts) => parts.flatMap(({ space, made }) => (space ? [space, made] : [made]));

// dQ is d and Q, x̂ is x with an accent; a name of several letters stands upright.
function nameIn(token) {
  if (token[0] === "d" && (/^d\p{L}\u0302?$/u.test(token) || token === "dlogits")) {
    return mathElement("mrow", {}, mathElement("mi", { mathvariant: "normal", text: "d" }), nameIn(token.slice(1)));
  }
  if (!token.endsWith("\u0302")) return mathName(token);
  return mathElement("mover", { accent: "true" }, mathName(token[0]), mathElement("mo", { text: "^" }));
}

function withoutParentheses(parts) {
  return parts.length === 1 && parts[0].inside ? inRow(parts[0].inside) : inRow(madeOf(parts));
}

function divided(above, below) {
  const isPlain = ({ isBar, isWord }) => !isBar && !isWord;
  const isClear = (below.length === 1 || below[0]?.isSum) && [...above, ...below].every(isPlain);
  if (!isClear) return [...madeOf(above), mathSign("/"), ...madeOf(below)];
  return [mathElement("mfrac", {}, withoutParentheses(above), withoutParentheses(below))];
}

// Parts are {made}, an element, with what else is known of it: `inside`, the elements between its parentheses;
// isFactor, it may stand beside another; isWord; isSum; isBar.
class FormulaReader {
  constructor(text) {
    this.tokens = [...text.matchAll(formulaToken)].map(([, space, token]) => ({ token, isApart: space !== "" }));
    this.at = 0;
    this.isAfterRelation = false;
    this.fractions = 0;
  }

  all() {
    const made = this.sequence(undefined);
    if (this.at < this.tokens.length) throw new NotUnderstood();
    return made;
  }

  get next() {
    return this.tokens[this.at]?.token;
  }

  isApart(at) {
    return this.tokens[at]?.isApart ?? true;
  }

  // The elements before `end`, which is left.
  sequence(end) {
    const made = [];
    let above = null;
    let term = [];
    const finish = () => {
      if (above) this.fractions++;
      made.push(...(above ? divided(above, term) : madeOf(term)));
      above = null;
      term = [];
    };
    while (this.next !== end && this.at < this.tokens.length) {
      const sign = this.next;
      const isSpaced = this.isApart(this.at) && this.isApart(this.at + 1);
      if (sign === "/" && isSpaced && !above && term.length > 0) {
        above = term;
        term = [];
        this.at++;
      } else if (betweenTerms.includes(sign)) {
        const isFirst = term.length === 0 && (made.length === 0 || this.isAfterRelation);
        finish();
        made.push(mathSign(sign, isFirst && ["-", "+", "±"].includes(sign) ? { form: "prefix" } : {}));
        this.at++;
        this.isAfterRelation = relations.includes(sign);
        continue;
      } else {
        term.push(this.factor(term.at(-1)));
      }
      this.isAfterRelation = false;
    }
    finish();
    return made;
  }

  // With a space where it is multiplied with what stands before it.
  factor(before) {
    const isApart = this.isApart(this.at);
    const part = this.scripted();
    if (isApart && before?.isFactor && part.isFactor) {
      part.space = mathElement("mspace", { width: before.isWord || part.isWord ? "0.35em" : "0.17em" });
    }
    return part;
  }

  // An atom with what hangs on it: W_qᵀ.
  scripted() {
    const base = this.atom();
    let below = null;
    let above = null;
    while (!this.isApart(this.at)) {
      if (this.next === "_" && !below) {
        this.at++;
        below = this.subscript();
      } else if (this.next === "^" && !above) {
        this.at++;
        above = this.next === "T" ? this.taken(mathSign("⊤")) : this.exponent();
      } else if (raisedSigns[this.next] && !above) {
        if (this.next === "'" && base.isLong) break; // Adam's
        above = this.taken(mathSign(raisedSigns[this.next]));
      } else if (this.isArrowOver()) {
        base.made = mathElement("mover", { accent: "true" }, base.made, this.taken(mathSign(this.next)));
      } else {
        break;
      }
    }
    if (!below && !above) return base;
    const under = base.isSum ? "munder" : "msub";
    const made =
      below && above
        ? mathElement("msubsup", {}, base.made, below, above)
        : below
          ? mathElement(under, {}, base.made, below)
          : mathElement("msup", {}, base.made, above);
    return { ...base, made, inside: undefined, isWord: false };
  }

  taken(made) {
    this.at++;
    return made;
  }

  exponent() {
    const { inside, made } = this.scripted();
    return inside ? inRow(inside) : made;
  }

  // h→_i: the state of the way there.
  isArrowOver() {
    return ["→", "←"].includes(this.next) && this.tokens[this.at + 1]?.token === "_" && !this.isApart(this.at + 1);
  }

  // q,0 and t+1, or what stands in brackets; the indices ij lean.
  subscript() {
    if (this.next === "(" || this.next === "{") return inRow(this.group().inside);
    const made = [];
    while (this.at < this.tokens.length && !this.isApart(this.at)) {
      const token = this.next;
      const joins = made.length > 0 && [",", "+", "-"].includes(token) && !this.isApart(this.at + 1);
      if (!isName(token) && !isNumber(token) && !joins) break;
      if (/^[a-z][A-Za-z]$/.test(token)) made.push(...[...token].map(mathName));
      else made.push(isName(token) ? mathName(token) : isNumber(token) ? mathElement("mn", { text: token }) : mathSign(token));
      this.at++;
    }
    if (made.length === 0) throw new NotUnderstood();
    return inRow(made);
  }

  group() {
    const open = this.next;
    const close = brackets[open];
    this.at++;
    const before = this.isAfterRelation;
    const fractions = this.fractions;
    this.isAfterRelation = false;
    const inside = this.sequence(close);
    this.isAfterRelation = before;
    if (this.next !== close) throw new NotUnderstood();
    this.at++;
    // Around what has one line they stay as they are.
    const look = this.fractions > fractions ? {} : { stretchy: "false" };
    return {
      made: mathElement("mrow", {}, mathSign(open, look), inside, mathSign(close, look)),
      inside: open === "[" ? undefined : inside,
      isFactor: true,
    };
  }

  atom() {
    const token = this.next;
    if (token === undefined || ["_", "^", ")", "]", "}"].includes(token)) throw new NotUnderstood();
    if (brackets[token]) return this.group();
    this.at++;
    if (token === "√") return { made: mathElement("msqrt", {}, this.exponent()), isFactor: true };
    if (sums.includes(token)) return { made: mathSign(token), isFactor: true, isSum: true };
    if (isNumber(token)) return { made: mathElement("mn", { text: token }), isFactor: true };
    if (isName(token)) return this.nameOrCall(token);
    if (token !== "|") return { made: mathSign(token) };
    return { made: mathSign("|", { stretchy: "false", lspace: "0", rspace: "0" }), isBar: true };
  }

  nameOrCall(token) {
    const made = nameIn(token);
    const isLong = token.length > 1;
    if (isLong && this.next === "(" && !this.isApart(this.at)) {
      return { made: mathElement("mrow", {}, made, this.group().made), isFactor: true };
    }
    const isWord = isLong && this.isApart(this.at) && /^[A-Za-z]+$/.test(token) && !/^d.$/.test(token);
    return { made, isFactor: true, isWord, isLong };
  }
}

// What is not understood, or is a sentence, is there as it is written.
export function formula(text) {
  try {
    if (/^\p{Script=Han}/u.test(text)) throw new NotUnderstood();
    return mathElement("math", { "aria-label": text, displaystyle: "true" }, new FormulaReader(text).all());
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error;
    return element("span", { class: "plain", text });
  }
}

// Three spaces part formulas that stand beside each other.
export function showFormulas() {
  for (const box of document.querySelectorAll(".formula")) {
    const texts = box.textContent.split(/ {3}|\n/).map((text) => text.trim());
    box.replaceChildren(...texts.filter((text) => text !== "").map(formula));
  }
}
