// What attention gives: the weighted sum of each head, the heads side by side, and the mixture of these.
import { linearShown, ofQuantity, partsOfLinear, partsOfScores, sequencePart } from "./parts.js";
import { hiddenCellsStopAtSoftmax } from "../lesson/premises.js";

export const sumChapter = {
  id: "sum",
  hasExercises: true,
  questions: [
    { key: "sum.hidden", holds: hiddenCellsStopAtSoftmax },
    { key: "sum.who_adds" },
  ],
  step(facts) {
    const { anatomy, layer, queries, keys, heads } = facts;
    const { weights } = partsOfScores(facts);
    const next = anatomy.linearBehind(layer.output) ? "C" : "Y"; // as O, where there is one head
    return {
      layout: {
        kind: "product",
        left: weights,
        top: [{ symbol: "V", value: layer.v, look: "head", family: "v", quantity: "values", rowNames: keys }],
        result: { symbol: "O", value: layer.heads, look: "map", family: "o", quantity: "values", rowNames: queries },
      },
      forward: ["O = P V", ...(heads > 1 ? [] : [`${next} = O`])],
      backward: [...(heads > 1 ? [] : [`dO = d${next}`]), "dP = dO V^T", "dV = P^T dO"],
      invariants: ["two_sums"],
    };
  },
};

export const concatChapter = {
  id: "concat",
  questions: [{ key: "concat.gradient" }],
  step({ layer, queries, width, heads }) {
    if (heads === 1) return null;
    return {
      layout: {
        kind: "stack",
        parts: ofQuantity("heads", [
          { symbol: "O", value: layer.heads, look: "map", family: "o", rowNames: queries },
          { ...sequencePart("C", layer.concatenated, queries, "o"), band: width },
        ]),
      },
      forward: ["C = [O_0 O_1 …]"],
      backward: ["dO_h = dC [h]"],
    };
  },
};

export const outputChapter = {
  id: "output",
  hasExercises: true,
  questions: [{ key: "output.which_head", holds: ({ heads }) => heads > 1 }],
  step({ anatomy, layer, queries, width }) {
    const linear = anatomy.linearBehind(layer.output);
    if (!linear) return null;
    const left = { ...sequencePart("C", linear.x, queries, "o"), band: width };
    return linearShown(left, partsOfLinear(linear, "_o"), sequencePart("Y", layer.output, queries, "y"));
  },
};
