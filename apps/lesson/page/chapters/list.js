// Every step of the page by its group at the left, in the order of the forward pass; a sum of gradients stands before
// what it is a sum of, so that it comes last on the way back. A chapter is {id, …}:
//   texts: where its texts stand, "scores" for "scores.name", "scores.what" and "scores.why"; without
//     it, under its id
//   questions: [{key, holds}] with the texts KEY.ask and KEY.answer; the first is shown whose premise
//     holds(lesson), where it has one
//   step(facts): what it shows of a layer: {layout, forward, backward, …}, with the rules by which its
//     matrices are made of each other, each of which the NumPy script computes; or several of these, which
//     may have an id, texts, questions and the key of a `why` of their own; null where this layer has
//     nothing of the kind. Without step, the chapter is there for every layer
//   drawing(app): {root, show()}, above the matrices; shown again for every cell that is chosen
//   view(app): in place of the matrices of `layout`
//   choosesLayer: whether it shows layers of its own choice, so that the reader cannot choose one
//   hasExercises: whether cells of its matrices are asked for in the chapter of exercises
import { detectiveChapter } from "./detective.js";
import { embeddingChapter } from "./embedding.js";
import { exercisesChapter } from "./exercises.js";
import { activationChapter, downChapter, upChapter } from "./feed_forward.js";
import { glanceChapter } from "./glance.js";
import { graphChapter } from "./graph/view.js";
import { ledgerChapter, ledgerOfInputChapter, ledgerOfMemoryChapter } from "./ledgers.js";
import { logitsChapter, lossChapter, poolChapter } from "./loss.js";
import { finalNormChapter, normAfterChapter, normChapter, secondNormAfterChapter, secondNormChapter } from "./norms.js";
import { concatChapter, outputChapter, sumChapter } from "./outputs.js";
import { openingChapter } from "./opening/view.js";
import { practiceChapter } from "./practice.js";
import { headsChapter, keyChapter, queryChapter, valueChapter } from "./projections.js";
import { residualChapter, secondResidualChapter } from "./residuals.js";
import { maskChapter, positionBiasChapter, scaleChapter, scoresChapter, softmaxChapter } from "./scores.js";
import { trainingChapter } from "./training.js";
import { answerNames, sequenceNames, vocabularyNames } from "../lesson/sequences.js";

const groups = {
  model: [practiceChapter, openingChapter, glanceChapter],
  input: [embeddingChapter, ledgerOfInputChapter, normChapter],
  projections: [ledgerOfMemoryChapter, ledgerChapter, queryChapter, keyChapter, valueChapter, headsChapter],
  weights: [scoresChapter, scaleChapter, positionBiasChapter, maskChapter, softmaxChapter],
  output: [sumChapter, concatChapter, outputChapter, residualChapter, normAfterChapter],
  prediction: [
    secondNormChapter,
    upChapter,
    activationChapter,
    downChapter,
    secondResidualChapter,
    secondNormAfterChapter,
    finalNormChapter,
    poolChapter,
    logitsChapter,
    lossChapter,
  ],
  more: [graphChapter, trainingChapter, exercisesChapter, detectiveChapter],
};

const allChapters = Object.entries(groups).flatMap(([group, chapters]) =>
  chapters.map((chapter) => ({ ...chapter, group })),
);

const rulesOfStep = ({ forward = [], backward = [] }) => ({ forward: [forward].flat(), backward: [backward].flat() });

// The steps of one layer.
export function stepsOf(document, anatomy, layerPath) {
  const layer = anatomy.layer(layerPath);
  const [, heads, rows, columns] = anatomy.shape(layer.weights);
  const queries = sequenceNames(document, anatomy, { stack: layer.stack, rows });
  const keys = layer.isCross ? sequenceNames(document, anatomy, { stack: "encoder.", rows: columns }) : queries;
  const facts = {
    anatomy,
    layer,
    queries,
    keys,
    heads,
    width: anatomy.shape(layer.q)[3],
    vocabulary: vocabularyNames(document),
    answers: answerNames(document),
    document,
  };
  const steps = allChapters.flatMap(({ step = () => ({}), ...chapter }) =>
    [step(facts)]
      .flat()
      .filter(Boolean)
      .map((shown) => ({ ...chapter, ...shown, ...rulesOfStep(shown) })),
  );
  return { layer, steps, heads, queries, keys };
}
