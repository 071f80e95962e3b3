// The state of the page: the document, the tape as it is now, and where one stands.
import { Anatomy } from "./anatomy.js";
import { Descent } from "../tape/descent.js";
import { explainedCell, readingCells } from "../tape/explain.js";
import { Expression } from "../ops/expression.js";
import { Forms } from "../tape/forms.js";
import { cellIn, gridOf, indexIn } from "./looks.js";
import { Kept } from "./kept.js";
import { giveCommonScales, matrixOf } from "./matrices.js";
import { keyOf, symbolText } from "./symbols.js";
import { textsNow } from "./prompt.js";
import { stepsOf } from "../chapters/list.js";
import { partsOf, shownOf } from "../chapters/parts.js";
import { languageNow } from "../texts/say.js";
import { trainingOf } from "./training.js";

export class Lesson {
  constructor(document, tape) {
    this.document = document;
    this.engineTape = tape;
    this.forms = new Forms(tape);
    this.tape = tape;
    this.anatomy = new Anatomy(tape);
    const { layers = [], part } = document.meta;
    this.shownLayers = layers; // at a glance: all
    this.layers = layers.filter((path) => isIn(path, part));
    this.training = trainingOf(document);
    this.kept = new Kept();
    this.coveredOnStage = null;
    this.planted = null; // the name of a mistake
    this.start = null; // {tape, practice, …}: where learning begins, see retape.js
    this.learning = null; // {steps, most, rate, tape}
    this.learned = null; // {first, move, …}: the tape of step 0, and what a step is
    this.begin = beginOf(document, this.layers);
    /** @type {any} */ // what an address can say, see address.js
    this.state = { ...this.begin, zoom: "fit" };
  }

  get chapters() {
    return this.chaptersOf(this.state.layer);
  }

  chaptersOf(layer) {
    return this.kept.get(`chapters ${layer}`, [this.anatomy], () => this.stepsNow(layer));
  }

  stepsNow(layer) {
    const { document } = this;
    const shown = { ...document, meta: { ...document.meta, texts: textsNow(this) } };
    return stepsOf(shown, this.anatomy, layer);
  }

  // The same lesson at another layer or head.
  at(place) {
    return Object.assign(Object.create(this), { state: { ...this.state, ...place } });
  }

  // A row of a map [1, heads, rows, columns], of the head that is open.
  rowOfHead(value, row) {
    const [, , rows, columns] = this.anatomy.shape(this.layer.weights);
    const from = (this.state.head * rows + row) * columns;
    return this.tape.values[value].data.subarray(from, from + columns);
  }

  get layer() {
    return this.chapters.layer;
  }

  // The steps of learning, from when somebody asks for them.
  get descent() {
    const { learned } = this;
    learned.descent ??= new Descent(learned.first, learned.move());
    return learned.descent;
  }

  get heads() {
    return this.chapters.heads;
  }

  get step() {
    const { steps } = this.chapters;
    return steps.find(({ id }) => id === this.state.step) ?? steps[0];
  }

  // Its anatomy stays that of earlier numbers of the same ops and tokens.
  useTape(tape, right = tape) {
    this.tape = tape;
    this.rightTape = right;
    this.anatomy = this.kept.get("anatomy", [right.program, this.state.prompt], () => new Anatomy(right));
  }

  isNamed = (value) => Boolean(this.anatomy.named[value]);

  expression(matrix, row, column) {
    const index = matrix.index(row, column);
    if (matrix.derived) return matrix.derived.expression(index);
    return this.expressionOf(matrix.value, index);
  }

  expressionOf(value, index) {
    return explainedCell(this.tape, value, index, this.isNamed);
  }

  evaluate(expression) {
    return Expression.evaluate(expression, (value, index) => this.tape.number(value, index));
  }

  uses(value, index) {
    return readingCells(this.tape, value, index, this.isNamed);
  }

  // The cell whose number is to be guessed: that of an exercise, or of a slide that does not tell it yet.
  get covered() {
    return this.coveredOnStage ?? this.state.exercise ?? null;
  }

  // Whether a row has no target, and so no part in the loss.
  isIgnored(row) {
    return this.document.meta.texts?.targets?.[row] === null;
  }

  // Whether it is that cell, whose number no place of the page may tell.
  isHidden(value, index) {
    const { covered: exercise } = this;
    if (!exercise) return false;
    const cell = this.kept.get("hidden cell", [this.step, this.state.head, exercise], () => this.hiddenCell(exercise));
    return cell?.value === value && cell.index === index;
  }

  // {value, index} of it, or null. The step that is open comes first, as it says what a name means.
  hiddenCell({ key, row, column }) {
    for (const step of [this.step, ...this.chapters.steps]) {
      for (const { part, value, symbol } of partsOf(step).flatMap((each) => shownOf(this.anatomy, each))) {
        if (keyOf(symbol) !== key) continue;
        const grid = gridOf(part, this.anatomy.shape(part.value), this.state.head, this.heads);
        return row < grid.rows && column < grid.columns ? { value, index: indexIn(grid, row, column) } : null;
      }
    }
    return null;
  }

  // Where the chapters of this layer show a value, those of the step that is open first.
  places(value) {
    return this.kept.get(`places of ${value}`, [this.step], () => this.placesNow(value));
  }

  placesNow(value) {
    const { steps } = this.chapters;
    const others = steps.filter((step) => step !== this.step);
    const isLedger = ({ shares }) => Boolean(shares); // which shows again what other steps make
    const inOrder = [this.step, ...others.filter((step) => !isLedger(step)), ...others.filter(isLedger)];
    return inOrder.flatMap((step) =>
      partsOf(step)
        .flatMap((part) => shownOf(this.anatomy, part))
        .filter((shown) => shown.value === value)
        .map(({ part, symbol }) => ({ step, part, symbol })),
    );
  }

  // {step, part, symbol, head, row, column} of an element of a value, or null; rather where it is
  // called so.
  locate(value, index, called = null) {
    const places = this.places(value);
    const meant = places.filter((place) => place.symbol === called);
    for (const place of [...meant, ...places]) {
      const at = this.cellOf(place.part, index);
      if (at) return { ...place, ...at };
    }
    return null;
  }

  cellOf(part, index) {
    const shape = this.anatomy.shape(part.value);
    const own = this.state.head;
    const others = Array.from({ length: this.heads }, (_, head) => head).filter((h) => h !== own);
    for (const head of [own, ...others]) {
      const grid = gridOf(part, shape, head, this.heads);
      const at = cellIn(grid, index);
      if (at) return { ...at, head, hasHeads: Boolean(grid.heads), grid };
      if (!grid.heads) return null;
    }
    return null;
  }

  // "dS[3,1]"; of another head with its number; of what this layer does not show, the path.
  name(value, index) {
    const place = this.locate(value, index);
    if (!place) return this.nameElsewhere(value, index);
    const { row, column, part, grid } = place;
    const isLine = grid.rows === 1 && !part.rowNames;
    const isColumn = grid.columns === 1 && part.look === "column";
    const subscript = isLine ? column : isColumn ? row : `${row},${column}`;
    const other = place.hasHeads && place.head !== this.state.head ? `₍${place.head}₎` : "";
    return `${symbolText(place.symbol)}${other}[${subscript}]`;
  }

  nameElsewhere(value, index) {
    const symbol = this.anatomy.symbols.get(value);
    if (!symbol) return `${this.tape.name(value)}[${index}]`;
    const shape = this.anatomy.shape(value);
    const columns = shape[shape.length - 1];
    const row = Math.floor(index / columns);
    return `${symbol}[${columns === 1 ? row : `${row},${index % columns}`}]`;
  }

  // All matrices of a step: {part, forward, backward}, either null where there is none.
  matrices(step = this.step) {
    const { layer, head } = this.state;
    const things = [this.tape, step, head, this.covered, languageNow()];
    return this.kept.get(`matrices of ${layer} ${step.id}`, things, () => this.matricesNow(step));
  }

  matricesNow(step) {
    const matrices = partsOf(step).map((part) => ({
      part,
      forward: matrixOf(this, part, false),
      backward: matrixOf(this, part, true),
    }));
    giveCommonScales(matrices);
    return matrices;
  }

  // The same as one list, without those that are not there.
  allMatrices(step = this.step) {
    return this.matrices(step).flatMap(({ forward, backward }) => [forward, backward].filter(Boolean));
  }

  // The gradients that the chapters of this layer show, each once.
  shownGradients() {
    const all = this.chapters.steps.flatMap((step) => this.allMatrices(step)).filter((matrix) => matrix.isGradient && !matrix.derived);
    return all.filter(({ value }, i) => all.findIndex((other) => other.value === value) === i);
  }

  matrix(key, step = this.step) {
    return this.allMatrices(step).find((matrix) => matrix.key === key) ?? null;
  }

  // Where the address of an element of a value is: what to put into the state. `called`: as above.
  stateOf(value, index, called = null) {
    const place = this.locate(value, index, called);
    if (!place) return null;
    const { step, head, hasHeads, row, column, symbol } = place;
    return {
      step: step.id,
      head: hasHeads ? head : this.state.head,
      cell: { key: keyOf(symbol), row, column },
    };
  }
}

// Whether a layer is in the part of the model that the document has.
const isIn = (path, part) => !part || path === part || path.startsWith(`${part}.`);

// Where the document wants the page to open.
/** @param {LessonDocument} document @param {string[]} layers */
function beginOf({ meta: { begin = {} } }, layers) {
  const { layer = layers[0], head = 0, position = 0, step = "opening" } = begin;
  const cell = step === "softmax" ? { key: "P", row: position, column: 0 } : null;
  return { layer, head, step, cell };
}
