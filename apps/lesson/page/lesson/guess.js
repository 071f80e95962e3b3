// What the opening tells: one guess of the model, and the row of attention in its last layer whose scores the loss
// wants to change most.
import { answerNames } from "./sequences.js";
import { sizeOf } from "../ops/shapes.js";

// What is behind the loss, {losses, p, error, right}: that of each place, shares of the classes, p − y, and y; how many classes there are, and how
// many guesses: one for each place, or one for all; or null.
export function guessedBy({ program, facts }) {
  const loss = program.ops.find(({ op }) => op === "cross_entropy");
  const made = (name) => program.ops.find((op) => loss && op.backward_of === loss.id && op.op === name);
  const [shares, apart] = ["softmax", "sub"].map(made);
  if (!shares || !apart) return null;
  const { shape } = facts[shares.output];
  const classes = shape.at(-1);
  return { losses: loss.output, p: shares.output, error: apart.output, right: apart.inputs[1], classes, guesses: sizeOf(shape) / classes };
}

// {path, head, row, rowOfGuess, names, keys, query, …values}, or null.
export function guessOf(lesson) {
  const { anatomy, layers, document } = lesson;
  const values = guessedBy(anatomy);
  const path = layers.findLast((each) => !each.startsWith("encoder."));
  if (!values || !path) return null;
  const { tape } = lesson.start;
  const { layer, queries, keys } = lesson.chaptersOf(path);
  const back = anatomy.gradient(layer.masked ?? layer.scores);
  const [, heads, rows, columns] = anatomy.shape(layer.weights);
  const { classes, guesses } = values;
  if (back === undefined || (guesses !== rows && guesses !== 1)) return null;
  const moves = Array.from({ length: heads * rows }, (_, at) => sumOf(rowAt(tape, back, at, columns)));
  const most = moves.indexOf(Math.max(...moves));
  const row = most % rows;
  const rowOfGuess = guesses === 1 ? 0 : row;
  const right = rowAt(tape, values.right, rowOfGuess, classes);
  return {
    ...values,
    path,
    back,
    isMasked: layer.masked !== undefined,
    weights: layer.weights,
    wish: anatomy.gradient(layer.weights),
    head: Math.floor(most / rows),
    row,
    rowOfGuess,
    columns,
    query: queries[row] ?? String(row),
    keys,
    names: answerNames(document),
    target: right.indexOf(Math.max(...right)),
    at: most,
  };
}

// The numbers of it that a tape has now, against the gradients: what is missing of y, what the loss wishes for P and S.
export function numbersOf(tape, guess) {
  const { p, error, weights, wish, back, at, rowOfGuess, classes, columns } = guess;
  const against = (row) => row.map((x) => -x);
  return {
    p: rowAt(tape, p, rowOfGuess, classes),
    missing: against(rowAt(tape, error, rowOfGuess, classes)),
    shares: rowAt(tape, weights, at, columns),
    wishes: against(rowAt(tape, wish, at, columns)),
    moves: against(rowAt(tape, back, at, columns)),
  };
}

const rowAt = (tape, value, row, columns) => tape.values[value].data.subarray(row * columns, (row + 1) * columns);

const sumOf = (row) => row.reduce((sum, x) => sum + Math.abs(x), 0);
