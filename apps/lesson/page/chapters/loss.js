// Logits and the loss, where the way back begins.
import { sharePart, sharesOfUses } from "./ledgers.js";
import { linearShown, partsOfLinear, sequencePart } from "./parts.js";
import { guessedBy } from "../lesson/guess.js";
import { invariantHolds } from "../lesson/premises.js";

export const logitsChapter = {
  id: "logits",
  questions: [{ key: "logits.mixture" }],
  step(facts) {
    const { anatomy, answers } = facts;
    const { symbol, value, linear } = logitsOf(facts) ?? {};
    if (!linear) return null;
    const rowNames = logitRows(facts, value);
    const left = poolOf(facts, linear.x) ? "h" : outputOf(facts).symbol;
    anatomy.adopt(linear.x);
    const [weight, ...bias] = partsOfLinear(linear, "", { columnNames: answers });
    const uses = sharesOfUses(anatomy, linear.weight);
    const own = uses.length > 1 && uses.find(({ op }) => op?.op === "linear"); // it is the table of tokens, too
    const share = own && {
      ...sharePart(anatomy, { symbol: "W", path: "logits", x: linear.weight, value: own.value, rowNames: null }),
      look: "weight",
      quantity: undefined,
      columnNames: answers,
    };
    const result = { ...sequencePart(symbol, value, rowNames, "p"), columnNames: answers };
    return linearShown(sequencePart(left, linear.x, rowNames), [{ ...weight, gradientPart: share }, ...bias], result);
  },
};

export const lossChapter = {
  id: "loss",
  hasExercises: true,
  questions: [{ key: "loss.zero_sums", holds: (lesson) => invariantHolds(lesson, "rows_of_logits") }],
  step(facts) {
    const { anatomy, answers, document } = facts;
    const logits = anatomy.at("logits");
    const { value: uncapped, cap } = logitsOf(facts) ?? {};
    const loss = anatomy.at("loss");
    const guess = guessedBy(anatomy);
    if (loss === undefined || !guess || !logitsOf(facts)) return null;
    const rowNames = logitRows(facts, logits);
    const part = { ...sequencePart("logits", logits, rowNames, "p"), columnNames: answers };
    const inner = (symbol, value, hue) => ({
      ...part,
      symbol,
      hue,
      quantity: "probability",
      value: anatomy.adopt(value),
      noGradient: true,
      ofTargets: true,
    });
    const within = [
      { ...inner("p", guess.p, "share"), ofTargets: false, gradientPart: inner("p-y", guess.error, "signed") },
      inner("y", guess.right, "share"),
    ];
    const { targets = [] } = document.meta.texts ?? {};
    const isPartial = targets.includes(null); // tokens without a target do not count
    const losses = { symbol: "ℓ_t", value: anatomy.adopt(guess.losses), look: "column", family: "p", rowNames };
    return {
      layout: {
        kind: "stack",
        parts: [
          ...(cap ? [{ ...part, symbol: "z", value: uncapped }] : []),
          part,
          ...within,
          ...(rowNames ? [losses] : []),
          { symbol: "ℓ", value: loss, look: "rows", family: "p" },
        ],
      },
      forward: [
        ...(cap ? [`logits = ${cap} tanh(z / ${cap})`] : []),
        "p = softmax(logits)",
        `ℓ = -Σ_${isPartial ? "{t: target}" : "t"} log p_{t,target} / n`,
      ],
      backward: [
        "dℓ = 1",
        ...(rowNames ? ["dℓ_t = dℓ / n"] : []),
        isPartial ? "dlogits = (p - y) / n, 0 (no target)" : "dlogits = (p - y) / n",
        ...(cap ? [`dz = dlogits ∘ (1 - (logits / ${cap})^2)`] : []),
      ],
      invariants: ["rows_of_logits"],
    };
  },
};

// What the linear map of the last step gives, {symbol, value, linear}: the logits, or z
// before logits = c tanh(z / c). Null in an encoder.
function logitsOf({ anatomy, layer }) {
  const logits = anatomy.at("logits");
  if (logits === undefined || layer.stack === "encoder.") return null;
  const last = anatomy.maker(logits);
  const tanh = last?.op === "scale" ? anatomy.op(last.inputs[0]) : null;
  if (tanh?.op !== "tanh") return { symbol: "logits", value: logits, linear: anatomy.linearBehind(logits) };
  const value = anatomy.adopt(anatomy.op(tanh.inputs[0]).inputs[0]);
  return { symbol: "z", value, linear: anatomy.linearBehind(value), cap: last.attributes.factor };
}

// What the last block gives, after a norm where one follows it: {symbol, value}.
function outputOf({ anatomy, layer }) {
  const value = anatomy.at(`${layer.stack}output`);
  const isNormed = /norm$/.test(anatomy.maker(value)?.op ?? "") && !layer.isNormLast;
  return { symbol: isNormed ? "H" : value === layer.blockOutput ? "X_{out}" : "X_{last}", value };
}

// How one row was made of all for a class: the name of an op, or null.
function poolOf({ anatomy }, x) {
  const op = anatomy.maker(x)?.op;
  return ["slice", "scale"].includes(op) ? op : null;
}

export const poolChapter = {
  id: "pool",
  step(facts) {
    const { anatomy, queries } = facts;
    const x = logitsOf(facts)?.linear?.x;
    const pool = x === undefined ? null : poolOf(facts, x);
    if (!pool) return null;
    const { symbol, value } = outputOf(facts);
    const rules = {
      slice: { forward: `h = ${symbol} [0]`, backward: [`d${symbol} [0] = dh`, `d${symbol} [t ≥ 1] = 0`] },
      scale: { forward: `h = colmean(${symbol})`, backward: `d${symbol} [t] = dh / T` },
    }[pool];
    const parts = [sequencePart(symbol, value, queries), sequencePart("h", anatomy.adopt(x), null)];
    return { layout: { kind: "stack", parts }, ...rules };
  },
};

// A classifier has one row of logits, for the picture.
const logitRows = ({ anatomy, queries }, logits) =>
  anatomy.shape(logits).slice(0, -1).every((n) => n === 1) ? null : queries;
