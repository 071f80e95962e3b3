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
  step({ anatomy, layer, queries }) {
    const { isNormLast, isNormFirst } = layer;
    const sum = anatomy.sumWithInput(layer);
    if (sum === undefined || layer.input === undefined || anatomy.op(sum)?.op !== "add") return null;
    const input = isNormFirst ? "X_{in}" : "X"; // what the projections read
    return {
      why: isNormLast ? "residual.why_with_norm_last" : undefined,
      layout: {
        kind: "stack",
        parts: ofQuantity("stream", [
          sequencePart(input, layer.input, queries),
          sequencePart("Y", layer.output, queries, "y"),
          sequencePart("R", anatomy.adopt(sum), queries),
        ]),
      },
      forward: [`R = ${input} + Y`],
      backward: ["dY = dR", ...ruleOfUses(anatomy, { x: layer.input, symbol: input, past: "dR", sum })],
    };
  },
};

export const secondResidualChapter = {
  id: "second_residual",
  questions: [{ key: "second_residual.two_gradients" }],
  step(facts) {
    const { anatomy, layer, queries } = facts;
    const { feedForward, feedForwardNorm, blockOutput, isNormLast } = layer;
    const value = isNormLast ? anatomy.maker(feedForwardNorm)?.inputs[0] : blockOutput;
    const sum = value === undefined ? null : anatomy.op(value);
    if (sum?.op !== "add") return null;
    const [input, output] = isNormLast ? ["N", "R_2"] : ["R", outputSymbol(facts)];
    return {
      layout: {
        kind: "stack",
        parts: ofQuantity("stream", [
          sequencePart(input, sum.inputs[0], queries),
          sequencePart("F", feedForward, queries, "f"),
          sequencePart(output, anatomy.adopt(value), queries),
        ]),
      },
      forward: [`${output} = ${input} + F`],
      backward: [`dF = d${output}`, ...ruleOfUses(anatomy, { x: sum.inputs[0], symbol: input, past: `d${output}`, sum: value })],
    };
  },
};
