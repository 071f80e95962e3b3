// Logits and the loss, where the way back begins.
import { partsOfLinear, sequencePart } from "./parts.js";
import { invariantHolds } from "../lesson/premises.js";

export const logitsChapter = {
  id: "logits",
  group: "prediction",
  questions: [{ key: "logits.mixture" }],
  step: logitsStep,
};

export const lossChapter = {
  id: "loss",
  group: "prediction",
  hasExercises: true,
  questions: [{ key: "loss.zero_sums", holds: (lesson) => invariantHolds(lesson, "rows_of_logits") }],
  step: lossStep,
};

const isLastStack = ({ layer }) => layer.stack !== "encoder.";

// A classifier has one row of logits, for the picture.
const logitRows = ({ anatomy, queries }, logits) =>
  anatomy.shape(logits).reduce((size, n) => size * n, 1) ===
  anatomy.shape(logits)[anatomy.shape(logits).length - 1]
    ? null
    : queries;

function logitsStep(facts) {
  const { anatomy, vocabulary } = facts;
  const logits = anatomy.at("logits");
  const linear = logits === undefined ? null : anatomy.linearBehind(logits);
  if (!linear || !isLastStack(facts)) return null;
  const rowNames = logitRows(facts, logits);
  anatomy.adopt(linear.x);
  const top = partsOfLinear(linear, "", { columnNames: vocabulary });
  return {
    layout: {
      kind: "product",
      left: sequencePart("H", linear.x, rowNames),
      top,
      result: {
        ...sequencePart("logits", logits, rowNames, "p"),
        columnNames: vocabulary,
      },
    },
    forward: `logits = H W${top.length > 1 ? " + b" : ""}`,
    backward: ["dW = H^T dlogits", "dH = dlogits W^T"],
  };
}

function lossStep(facts) {
  const { anatomy, vocabulary } = facts;
  const logits = anatomy.at("logits");
  const loss = anatomy.at("loss");
  const op = anatomy.program.ops.find((each) => each.op === "cross_entropy");
  if (logits === undefined || loss === undefined || !op || !isLastStack(facts)) return null;
  const rowNames = logitRows(facts, logits);
  const part = {
    ...sequencePart("logits", logits, rowNames, "p"),
    columnNames: vocabulary,
  };
  const losses = anatomy.adopt(op.output);
  const made = (name) => anatomy.program.ops.find((o) => o.backward_of === op.id && o.op === name);
  const [shares, wanted, apart] = ["softmax", "one_hot", "sub"].map(made);
  const inner = (symbol, { output }, hue = "signed") => ({
    ...part,
    symbol,
    hue,
    quantity: "probability",
    value: anatomy.adopt(output),
    noGradient: true,
  });
  const within =
    shares && wanted && apart
      ? [
          { ...inner("p", shares, "share"), gradientPart: inner("p-y", apart) },
          inner("y", wanted, "share"),
        ]
      : [];
  return {
    layout: {
      kind: "stack",
      parts: [
        part,
        ...within,
        { symbol: "ℓ_t", value: losses, look: "column", family: "p", rowNames },
        { symbol: "ℓ", value: loss, look: "rows", family: "p" },
      ],
    },
    forward: "p = softmax(logits), ℓ = -Σ_t log p_{t,target} / N",
    backward: ["dlogits = (p - y) / N"],
    invariants: ["rows_of_logits"],
  };
}
