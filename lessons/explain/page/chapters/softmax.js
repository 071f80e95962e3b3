// The softmax of the scores of one head, with the exponentials on the way.
import { budgetOf } from "./budget.js";
import { partsOfScores } from "./parts.js";
import { invariantHolds } from "../lesson/premises.js";

export const softmaxChapter = {
  id: "softmax",
  group: "weights",
  hasExercises: true,
  texts: {
    name: ["Softmax", "Softmax 三步"],
    what: [
      "Subtract each row's largest, take exponentials, divide by their sum.",
      "每行减去最大值，取指数，再除以总和。",
    ],
    why: [
      "Scores become shares of 1: more for one is less for the others.",
      "归一化：得分变成总和为 1 的份额，给一个多，别的就少。",
    ],
    questions: [
      {
        ask: ["Why do the rows of dS sum to 0?", "为什么 dS 的每一行之和是 0？"],
        answer: [
          "Adding a constant to a row of scores changes no share, so the loss cannot change.",
          "给一行得分都加上同一个常数，份额不变，损失也就不变。",
        ],
        holds: (lesson) => invariantHolds(lesson, "rows_of_scores"),
      },
    ],
  },
  step: softmaxStep,
};

function softmaxStep(facts) {
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
    forward: `E = exp(${masked.symbol} - rowmax(${masked.symbol})), P = frac{E}{rowsum(E)}`,
    backward: [`d${masked.symbol} = P ∘ (dP - rowsum(P ∘ dP))`],
    invariants: ["rows_of_weights", "rows_of_scores", "two_sums", "nothing_above"],
  };
}
