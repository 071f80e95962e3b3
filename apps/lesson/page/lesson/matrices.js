// A part of a step with its numbers: what a heat map draws and the panel explains.
import { derivedNumbers } from "./derived.js";
import { keyOf, symbolText } from "./symbols.js";
import { gridOf, indexIn, largestMagnitude } from "./looks.js";
import { shortNumber } from "../ops/numbers.js";
import { roundingOf } from "./reasons.js";
import { say } from "../texts/say.js";

const widthOfLetter = 7;

// The forward matrix of a part, or that of its gradient; null where there is none.
export function matrixOf(lesson, part, isGradient) {
  if (isGradient) {
    if (part.gradientPart) return complete(lesson, part.gradientPart, true);
    if (part.noGradient) return null;
    const value = lesson.anatomy.gradient(part.value);
    if (value === undefined || part.derived) return null;
    const symbol = `d${part.symbol}`;
    const of = { ...part, symbol, value, hue: "signed", of: part.value };
    return complete(lesson, of, true);
  }
  return complete(lesson, part, false);
}

function complete(lesson, part, isGradient) {
  const derived = part.derived ? derivedNumbers(lesson, part) : null;
  // a gradient lies in its tensor as the value does, whatever the shape is called
  const shape = lesson.anatomy.shape(part.of ?? part.value);
  const grid = gridOf(part, shape, lesson.state.head, lesson.heads);
  const { data: all } = derived ?? lesson.tape.values[part.value];
  const data = part.ofTargets ? countedRows(lesson, all, grid) : all;
  return new Matrix({ lesson, part, isGradient, grid, data, derived });
}

// 0 in rows without a target, which the tape has with another class.
const countedRows = (lesson, data, { columns }) =>
  data.map((x, index) => (lesson.isIgnored(Math.floor(index / columns)) ? 0 : x));

// What is of one quantity is compared: those forward have one scale, and their gradients another.
export function giveCommonScales(matrices) {
  const groups = new Map();
  for (const matrix of matrices.flatMap(({ forward, backward }) => [forward, backward])) {
    const { quantity } = matrix?.part ?? {};
    if (!quantity) continue;
    const key = `${quantity} ${matrix.isGradient}`;
    groups.set(key, [...(groups.get(key) ?? []), matrix]);
  }
  for (const group of groups.values()) {
    const size = Math.max(...group.map((matrix) => matrix.size));
    for (const matrix of group) {
      matrix.size = size;
      matrix.scaledWith = group.filter((other) => other !== matrix);
    }
  }
}

// Numbers that shortNumber writes without a power of ten; 10 ** leastExponent is a normal number.
const plain = { from: 1e-3, below: 1e5, leastExponent: -307 };

class Matrix {
  constructor({ lesson, part, isGradient, grid, data, derived }) {
    this.lesson = lesson;
    this.part = part;
    this.isGradient = isGradient;
    this.grid = grid;
    this.data = data;
    this.derived = derived;
    this.key = keyOf(part.symbol);
    this.symbol = part.symbol;
    this.value = derived ? -1 : part.value;
    this.of = part.of;
    this.hue = part.hue ?? "signed";
    this.family = part.family;
    this.largestOfRows = [];
    this.rounding = isGradient ? roundingOf(lesson) : 0;
    this.scaledWith = []; // the matrices of the step that have the same scale
    this.largest = largestMagnitude(this.dataShown(), grid);
    // What gets the full colour; more where this is drawn on one scale with others.
    this.size = this.largest;
    if (isGradient && this.size > 0) this.size = Math.max(this.size, 10 * this.rounding);
    this.title = say("matrix.title", {
      name: symbolText(part.symbol),
      rows: grid.rows,
      columns: grid.columns,
    });
    this.gutter = this.gutterWidth();
    this.longestName = longestOf(part.columnNames ?? []);
  }

  gutterWidth() {
    const { rowNames } = this.part;
    if (!rowNames?.length) return 0;
    return Math.min(64, longestOf(rowNames) * widthOfLetter + 9);
  }

  // Room for the names of the columns, above cells of this width.
  headerFor(cellWidth) {
    if (!this.part.columnNames?.length) return 0;
    return this.turnsNames(cellWidth) ? Math.min(64, this.longestName * widthOfLetter + 8) : 16;
  }

  turnsNames(cellWidth) {
    return this.longestName * widthOfLetter > Math.max(cellWidth, 14) + 4;
  }

  rowName(row) {
    return this.part.rowNames?.[row] ?? "";
  }

  columnName(column) {
    return this.part.columnNames?.[column] ?? "";
  }

  // As they stand beside the cells.
  rowLabel(row) {
    return shortened(this.rowName(row));
  }

  columnLabel(column) {
    return shortened(this.columnName(column));
  }

  index(row, column) {
    return indexIn(this.grid, row, column);
  }

  number(row, column) {
    return this.data[this.index(row, column)];
  }

  // The cell of an exercise.
  isHiddenCell(row, column) {
    return !this.derived && this.lesson.isHidden(this.value, this.index(row, column));
  }

  // NaN where it is hidden.
  numberShown(row, column) {
    return this.isHiddenCell(row, column) ? NaN : this.number(row, column);
  }

  dataShown() {
    const { covered: exercise } = this.lesson;
    if (!exercise || this.derived) return this.data;
    return this.data.map((x, index) => (this.lesson.isHidden(this.value, index) ? NaN : x));
  }

  name(row, column) {
    return `${symbolText(this.symbol)}[${this.subscript(row, column)}]`;
  }

  subscript(row, column) {
    if (this.grid.columns === 1 && this.part.look === "column") return String(row);
    return this.grid.rows === 1 && !this.part.rowNames ? String(column) : `${row},${column}`;
  }

  place(row, column) {
    return [this.rowName(row), this.columnName(column)].filter(Boolean).join(" → ");
  }

  // Whether a number is what rounding leaves of a 0: in its row, or in a gradient beside all others. A share may be as
  // small as it likes.
  isRounding(row, column) {
    const x = Math.abs(this.number(row, column));
    if (this.hue !== "signed" || x === 0) return false;
    if (this.isGradient && x <= this.rounding) return true;
    return x < 1e-14 * this.largestOfRow(row);
  }

  largestOfRow(row) {
    if (this.largestOfRows[row] === undefined) {
      let largest = 0;
      for (let column = 0; column < this.grid.columns; column++) {
        const x = Math.abs(this.number(row, column));
        if (x > largest && x < Infinity) largest = x;
      }
      this.largestOfRows[row] = largest;
    }
    return this.largestOfRows[row];
  }

  // As it is shown: 0 where it is rounding.
  rounded(row, column) {
    return this.isRounding(row, column) ? 0 : this.number(row, column);
  }

  isAllRounding() {
    return this.isGradient && this.largest <= this.rounding;
  }

  // The exponent of the power of ten that cells leave out; 0 where shortNumber needs none.
  get exponent() {
    const { largest } = this;
    if (this.isAllRounding()) return 0;
    if (!(largest > 0) || (largest >= plain.from && largest < plain.below)) return 0;
    return Math.max(Math.floor(Math.log10(largest)), plain.leastExponent);
  }

  // The text of a cell: the number divided by that power of ten, in few digits.
  cellText(row, column) {
    if (this.isHiddenCell(row, column)) return "?";
    return shortNumber(this.rounded(row, column) / 10 ** this.exponent);
  }

  // The number in few digits.
  text(row, column) {
    return this.isHiddenCell(row, column) ? "?" : shortNumber(this.rounded(row, column));
  }

  describe(row, column) {
    const place = this.place(row, column);
    const number = this.text(row, column);
    return `${this.name(row, column)}${place ? `, ${place}` : ""}: ${number}`;
  }
}

// In letters: those of Chinese are wider.
const widthOfName = (name) =>
  [...name].reduce((sum, letter) => sum + (letter >= "⺀" ? 1.8 : 1), 0);
const longestOf = (names) =>
  names.reduce((size, name) => Math.max(size, widthOfName(shortened(name))), 0);

const mostLetters = 9;

function shortened(name) {
  const letters = [...name];
  return letters.length > mostLetters ? `${letters.slice(0, mostLetters - 1).join("")}…` : name;
}
