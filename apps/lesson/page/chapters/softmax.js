// The softmax of the scores of one head, with the exponentials on the way.
import { budgetOf } from "./budget.js";
import { partsOfScores } from "./parts.js";
import { invariantHolds } from "../lesson/premises.js";

export const softmaxChapter = {
  id: "softmax",
  hasExercises: true,
  questions: [{ key: "softmax.zero_sums", holds: (lesson) => invariantHolds(lesson, "rows_of_scores") }],
  step(facts) {
    const { anatomy, layer } = facts;
    const { masked, weights } = partsOfScores(facts);
    const inner = anatomy.softmaxBackward(layer.weights);
    const exponentials = {
      ...masked,
      symbol: "E",
      hue: "share",
      quantity: undefined,
      derived: "exponentials",
      gradientPart: inner && {
        ...masked,
        symbol: "P∘dP",
        value: inner.product,
        isGradient: true,
      },
    };
    return {
      drawing: budgetOf,
      layout: { kind: "stack", parts: [masked, exponentials, weights] },
      forward: [`E = exp(${masked.symbol} - rowmax(${masked.symbol}))`, "P = E / rowsum(E)"],
      backward: [`d${masked.symbol} = P ∘ (dP - rowsum(P ∘ dP))`],
      invariants: ["rows_of_weights", "rows_of_scores", "two_sums", "nothing_above"],
    };
  },
};
