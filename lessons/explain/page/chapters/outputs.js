// What attention gives: the weighted sum of each head, the heads side by side, and the mixture of these.
import { arcsOf } from "./arcs.js";
import { ofQuantity, partsOfLinear, partsOfScores } from "./parts.js";
import { hiddenCellsStopAtSoftmax } from "../lesson/premises.js";

export const sumChapter = {
  id: "sum",
  group: "output",
  hasExercises: true,
  texts: {
    name: ["Weighted sum: P V", "加权求和：P V"],
    what: [
      "Row i of O is the sum of the rows of V, by the shares in row i of P.",
      "O 的第 i 行是 V 各行按 P 第 i 行的份额加权求和。",
    ],
    why: [
      "This is what attention is for: a vector that holds what mattered to it.",
      "注意力的核心就是加权求和：新向量包含了对它重要的信息。",
    ],
    questions: [
      {
        ask: ["Why does dP exist where the mask hides?", "为什么被掩码的位置也有 dP？"],
        answer: [
          "dP = dO Vᵀ does not ask for P; softmax's P ∘ … stops it.",
          "dP = dO Vᵀ 与 P 无关；到 softmax 的 P ∘ … 才被挡住。",
        ],
        holds: hiddenCellsStopAtSoftmax,
      },
      {
        ask: ["Who adds to the gradient of row j of V?", "V 的第 j 行的梯度来自谁？"],
        answer: ["Every query, by the share that it gave: dV = Pᵀ dO.", "每个查询，按它给出的份额：dV = Pᵀ dO。"],
      },
    ],
  },
  step: sumStep,
};

function sumStep(facts) {
  const { layer, queries, keys } = facts;
  const { weights } = partsOfScores(facts);
  return {
    drawing: arcsOf,
    layout: {
      kind: "product",
      left: weights,
      top: ofQuantity("values", [
        { symbol: "V", value: layer.v, look: "head", family: "v", rowNames: keys },
      ]),
      result: {
        symbol: "O",
        value: layer.heads,
        look: "map",
        family: "o",
        quantity: "values",
        rowNames: queries,
      },
    },
    forward: "O = P V",
    backward: ["dP = dO V^T", "dV = P^T dO"],
    invariants: ["two_sums"],
  };
}

export const concatChapter = {
  id: "concat",
  group: "output",
  texts: {
    name: ["Concatenate", "拼接各头"],
    what: ["The heads' outputs stand side by side again.", "各头的输出重新并排拼接（concat）。"],
    why: [
      "Each head has found something else; the next step mixes it.",
      "每个头找到不同的信息，下一步把它们混合。",
    ],
    questions: [
      {
        ask: ["What does concatenation do to the gradient?", "拼接对梯度做了什么？"],
        answer: ["It is cut: each head gets its band of dC.", "切开：每个头得到 dC 中自己的那一段。"],
      },
    ],
  },
  step: concatStep,
};

function concatStep({ layer, queries, width }) {
  return {
    layout: {
      kind: "stack",
      parts: ofQuantity("heads", [
        { symbol: "O", value: layer.heads, look: "map", family: "o", rowNames: queries },
        {
          symbol: "C",
          value: layer.concatenated,
          look: "rows",
          band: width,
          family: "o",
          rowNames: queries,
        },
      ]),
    },
    forward: "C = [O_0 O_1 …]",
    backward: ["dO_h = dC [h]"],
  };
}

export const outputChapter = {
  id: "output",
  group: "output",
  hasExercises: true,
  texts: {
    name: ["Output: W_o", "输出：W_o"],
    what: [
      "A linear map mixes the heads into the width of the model.",
      "一个线性变换把各头混合回模型的宽度。",
    ],
    why: ["Heads meet only here.", "各头只在这里相遇。"],
    questions: [
      {
        ask: ["Which head does the loss want to change most?", "损失最想改变哪个头？"],
        answer: ["Compare the bands of dC.", "比较 dC 的各段。"],
      },
    ],
  },
  step: outputStep,
};

function outputStep({ anatomy, layer, queries, width }) {
  const linear = anatomy.linearBehind(layer.output);
  if (!linear) return null;
  const result = { symbol: "Y", value: layer.output, look: "rows", family: "y", rowNames: queries };
  const top = partsOfLinear(linear, "_o");
  return {
    layout: {
      kind: "product",
      left: {
        symbol: "C",
        value: linear.x,
        look: "rows",
        band: width,
        family: "o",
        rowNames: queries,
      },
      top,
      result,
    },
    forward: `Y = C W_o${top.length > 1 ? " + b_o" : ""}`,
    backward: ["dW_o = C^T dY", "dC = dY W_o^T", ...(top.length > 1 ? ["db_o = colsum(dY)"] : [])],
  };
}
