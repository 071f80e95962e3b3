// The sums on the residual stream.
import { ofQuantity, outputSymbol, sequencePart } from "./parts.js";
import { ruleOfUses } from "./ledgers.js";
import { areEqual } from "../lesson/premises.js";

export const residualChapter = {
  id: "residual",
  hasExercises: true,
  questions: [
    { key: "residual.not_shared", holds: (lesson) => areEqual(lesson, "dY", "dR") && lesson.planted !== "residual" },
  ],
  step(facts) {
    const { anatomy, layer } = facts;
    const { isNormLast, isNormFirst } = layer;
    const sum = anatomy.sumWithInput(layer);
    if (sum === undefined || layer.input === undefined || anatomy.op(sum)?.op !== "add") return null;
    const input = isNormFirst ? "X_{in}" : "X"; // what the projections read
    return {
      why: isNormLast ? "residual.why_with_norm_last" : undefined,
      ...sumShown(facts, { x: [input, layer.input], f: ["Y", layer.output], y: ["R", sum] }),
    };
  },
};

export const secondResidualChapter = {
  id: "second_residual",
  questions: [{ key: "second_residual.two_gradients" }],
  step(facts) {
    const { anatomy, layer } = facts;
    const { feedForward, feedForwardNorm, blockOutput, isNormLast } = layer;
    const value = isNormLast ? anatomy.maker(feedForwardNorm)?.inputs[0] : blockOutput;
    const sum = value === undefined ? null : anatomy.op(value);
    if (sum?.op !== "add") return null;
    const [input, output] = isNormLast ? ["N", "R_2"] : ["R", outputSymbol(facts)];
    return sumShown(facts, { x: [input, sum.inputs[0]], f: ["F", feedForward], y: [output, value] });
  },
};

// y = x + f: symbols and values.
function sumShown({ anatomy, queries }, { x: [input, x], f: [added, f], y: [output, sum] }) {
  const parts = [
    sequencePart(input, x, queries),
    sequencePart(added, f, queries, added.toLowerCase()),
    sequencePart(output, anatomy.adopt(sum), queries),
  ];
  return {
    layout: { kind: "stack", parts: ofQuantity("stream", parts) },
    forward: [`${output} = ${input} + ${added}`],
    backward: [`d${added} = d${output}`, ...ruleOfUses(anatomy, { x, symbol: input, past: `d${output}`, sum })],
  };
}
