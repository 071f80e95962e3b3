import assert from "node:assert/strict";
import test from "node:test";
import { readdirSync, readFileSync } from "node:fs";
import { formula } from "../../../../apps/report/page/formula.js";

// What formulas need of a page, where there is none.
class Made {
  constructor(localName) {
    Object.assign(this, { localName, attributes: {}, children: [], textContent: "" });
  }

  setAttribute(name, value) {
    this.attributes[name] = value;
  }

  getAttribute(name) {
    return this.attributes[name] ?? null;
  }

  append(...children) {
    this.children.push(...children);
  }
}
const make = (_, tag) => new Made(tag);
globalThis.document = { createElement: (tag) => make("", tag), createElementNS: make };

// <mi>, <mn> and <mo> as their texts, rows in parentheses: "msub(x i)".
function shapeOf(made) {
  const inside = [...made.children].filter((child) => child.localName !== "mspace").map(shapeOf);
  if (["mi", "mn", "mo"].includes(made.localName)) return made.textContent;
  return made.localName === "math" ? inside.join(" ") : `${made.localName.replace("mrow", "")}(${inside.join(" ")})`;
}
const shape = (text) => shapeOf(formula(text));
const isUnderstood = (text) => formula(text).localName === "math";

test("what hangs on a sign is below or above it", () => {
  for (const [text, wanted] of [
    ["x_i", "msub(x i)"],
    ["W_q,0 x", "msub(W (q , 0)) x"],
    ["x_t+1", "msub(x (t + 1))"],
    ["x_(t - 4)", "msub(x (t − 4))"],
    ["e_{t+k}", "msub(e (t + k))"],
    ["X_{in}", "msub(X in)"],
    ["W_qᵀ", "msubsup(W q ⊤)"],
    ["W_q^T", "msubsup(W q ⊤)"],
    ["h→_i", "msub(mover(h →) i)"],
    ["η²", "msup(η 2)"],
    ["e^z_i", "msup(e msub(z i))"],
    ["e^(a + b)", "msup(e (a + b))"],
    ["x̂", "mover(x ^)"],
    ["dx̂", "(d mover(x ^))"],
    ["Σ_c e^z_c", "munder(Σ c) msup(e msub(z c))"],
  ]) {
    assert.equal(shape(text), wanted, text);
  }
});

test("indices lean and names stand", () => {
  assert.equal(shape("P_ij = softmax(S)"), "msub(P (i j)) = (softmax (( S )))");
  assert.equal(shape("dS"), "(d S)");
  assert.equal(shape("dlogits"), "(d logits)");
});

test("a fraction is one only where it is clear", () => {
  assert.equal(shape("S = Q Kᵀ / √d_k"), "S = mfrac((Q msup(K ⊤)) msqrt(msub(d k)))");
  assert.equal(shape("(a + b) / 2"), "mfrac((a + b) 2)");
  assert.equal(shape("a + b / c"), "a + mfrac(b c)");
  assert.equal(shape("E / rowsum(E)"), "mfrac(E (rowsum (( E ))))");
  for (const text of ["a / b c", "|a / b|", "1/n", "d / h numbers"]) {
    assert.ok(!shape(text).includes("mfrac"), text);
  }
});

test("a minus is a sign after a relation, a difference elsewhere", () => {
  const isPrefix = (text) => [...formula(text).children].some((made) => made.getAttribute("form") === "prefix");
  assert.ok(isPrefix("a = -b") && isPrefix("-b"));
  assert.ok(!isPrefix("a - b") && !isPrefix("a b - c"));
});

test("what is not understood is there as it is written", () => {
  for (const text of ["我喜欢踢足球", "f(x", "f)x", "x_", "^2", "a_ b", "(a < b"]) {
    const made = formula(text);
    assert.equal(made.localName, "span", text);
    assert.equal(made.textContent, text);
  }
});

const texts = new URL("../../../../apps/labs/", import.meta.url);
test("every formula of the labs is understood", () => {
  for (const file of readdirSync(texts, { recursive: true })) {
    if (!file.endsWith(".toml")) continue;
    const written = readFileSync(new URL(file, texts), "utf8").matchAll(/\bformula(?:\.en|\.zh)? = "([^"]*)"/g);
    for (const [, text] of written) {
      for (const part of text.split("   ")) {
        assert.equal(isUnderstood(part.trim()), !/^\p{Script=Han}/u.test(part), part);
      }
    }
  }
});
