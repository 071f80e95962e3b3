// Logits and the loss, where the way back begins.
import { sharePart, sharesOfUses } from "./ledgers.js";
import { linearShown, partsOfLinear, sequencePart } from "./parts.js";
import { invariantHolds } from "../lesson/premises.js";

export const logitsChapter = {
  id: "logits",
  questions: [{ key: "logits.mixture" }],
  step(facts) {
    const { anatomy, vocabulary } = facts;
    const logits = anatomy.at("logits");
    const linear = logits === undefined ? null : anatomy.linearBehind(logits);
    if (!linear || !isLastStack(facts)) return null;
    const rowNames = logitRows(facts, logits);
    anatomy.adopt(linear.x);
    const [weight, ...bias] = partsOfLinear(linear, "", { columnNames: vocabulary });
    const uses = sharesOfUses(anatomy, linear.weight);
    const own = uses.length > 1 && uses.find(({ op }) => op?.op === "linear"); // it is the table of tokens, too
    const share = own && {
      ...sharePart(anatomy, { symbol: "W", path: "logits", x: linear.weight, value: own.value, rowNames: null }),
      look: "weight",
      quantity: undefined,
      columnNames: vocabulary,
    };
    const result = { ...sequencePart("logits", logits, rowNames, "p"), columnNames: vocabulary };
    return linearShown(sequencePart("H", linear.x, rowNames), [{ ...weight, gradientPart: share }, ...bias], result);
  },
};

export const lossChapter = {
  id: "loss",
  hasExercises: true,
  questions: [{ key: "loss.zero_sums", holds: (lesson) => invariantHolds(lesson, "rows_of_logits") }],
  step(facts) {
    const { anatomy, vocabulary, document } = facts;
    const logits = anatomy.at("logits");
    const loss = anatomy.at("loss");
    const op = anatomy.program.ops.find((each) => each.op === "cross_entropy");
    if (logits === undefined || loss === undefined || !op || !isLastStack(facts)) return null;
    const rowNames = logitRows(facts, logits);
    const part = { ...sequencePart("logits", logits, rowNames, "p"), columnNames: vocabulary };
    const made = (name) => anatomy.program.ops.find((o) => o.backward_of === op.id && o.op === name);
    const [shares, apart] = ["softmax", "sub"].map(made);
    const inner = (symbol, value, hue) => ({
      ...part,
      symbol,
      hue,
      quantity: "probability",
      value: anatomy.adopt(value),
      noGradient: true,
    });
    const within =
      shares && apart
        ? [
            { ...inner("p", shares.output, "share"), gradientPart: inner("p-y", apart.output, "signed") },
            inner("y", apart.inputs[1], "share"),
          ]
        : [];
    const { targets = [] } = document.meta.texts ?? {};
    const isPartial = targets.includes(null); // tokens without a target do not count
    const losses = { symbol: "ℓ_t", value: anatomy.adopt(op.output), look: "column", family: "p", rowNames };
    return {
      layout: {
        kind: "stack",
        parts: [
          part,
          ...within,
          ...(rowNames ? [losses] : []),
          { symbol: "ℓ", value: loss, look: "rows", family: "p" },
        ],
      },
      forward: ["p = softmax(logits)", `ℓ = -Σ_${isPartial ? "{t: target}" : "t"} log p_{t,target} / n`],
      backward: [isPartial ? "dlogits = (p - y) / n, 0 (no target)" : "dlogits = (p - y) / n"],
      invariants: ["rows_of_logits"],
    };
  },
};

const isLastStack = ({ layer }) => layer.stack !== "encoder.";

// A classifier has one row of logits, for the picture.
const logitRows = ({ anatomy, queries }, logits) =>
  anatomy.shape(logits).slice(0, -1).every((n) => n === 1) ? null : queries;
