// The sums on the residual stream.
import { ofQuantity, sequencePart } from "./parts.js";
import { areEqual } from "../lesson/premises.js";

export const residualChapter = {
  id: "residual",
  group: "output",
  hasExercises: true,
  texts: {
    name: ["Residual", "残差"],
    what: ["The layer's output is added to what came in.", "把这一层的输出加到输入上。"],
    why: [
      "The gradient reaches early layers past every layer, unchanged.",
      "梯度可以绕过每一层，原样到达前面的层。",
    ],
    questions: [
      {
        ask: ["How is dR shared between what came in and Y?", "dR 如何分给输入和 Y？"],
        answer: ["It is not shared: each gets all of it.", "不是分：每一个都得到全部。"],
        holds: (lesson) => areEqual(lesson, "dY", "dR") && lesson.planted !== "residual",
      },
    ],
  },
  step: residualStep,
};

const whyWithNormLast = [
  "The gradient comes back past the layer, too; the norm after the sum changes it.",
  "梯度也绕过这一层返回；相加之后的归一化会改变它。",
];

function residualStep({ anatomy, layer, queries }) {
  const { isNormLast, isNormFirst } = layer;
  const sum = anatomy.sumWithInput(layer);
  if (sum === undefined || layer.input === undefined || anatomy.op(sum)?.op !== "add") return null;
  const input = isNormFirst ? "X_{in}" : "X"; // what the projections read
  return {
    texts: isNormLast ? { ...residualChapter.texts, why: whyWithNormLast } : residualChapter.texts,
    layout: {
      kind: "stack",
      parts: ofQuantity("stream", [
        sequencePart(input, layer.input, queries),
        sequencePart("Y", layer.output, queries, "y"),
        sequencePart("R", anatomy.adopt(sum), queries),
      ]),
    },
    forward: `R = ${input} + Y`,
    backward: ["dY = dR", `d${input} ← dR`],
  };
}

export const secondResidualChapter = {
  id: "second_residual",
  group: "prediction",
  texts: {
    name: ["Second residual", "第二次残差"],
    what: ["What the feed-forward layer found is added.", "加上前馈层的结果。"],
    why: [
      "The block has changed its input, and not replaced it.",
      "这一块修改输入，而不是替换它。",
    ],
    questions: [
      {
        ask: ["Where do two gradients meet going back?", "反向时两个梯度在哪里相遇？"],
        answer: [
          "Where the feed-forward layer begins: that past it and that through it are added.",
          "在前馈层的输入处：绕过与穿过这一层的梯度相加。",
        ],
      },
    ],
  },
  step: secondResidualStep,
};

function secondResidualStep({ anatomy, layer, queries }) {
  const { feedForward, feedForwardNorm, blockOutput, isNormLast } = layer;
  const value = isNormLast ? anatomy.maker(feedForwardNorm)?.inputs[0] : blockOutput;
  const sum = value === undefined ? null : anatomy.op(value);
  if (sum?.op !== "add") return null;
  const [input, output] = isNormLast ? ["N", "R_2"] : ["R", "X_{out}"];
  return {
    layout: {
      kind: "stack",
      parts: ofQuantity("stream", [
        sequencePart(input, sum.inputs[0], queries),
        sequencePart("F", feedForward, queries, "f"),
        sequencePart(output, anatomy.adopt(value), queries),
      ]),
    },
    forward: `${output} = ${input} + F`,
    backward: [`dF = d${output}`, `d${input} ← d${output}`],
  };
}
