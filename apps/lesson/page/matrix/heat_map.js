// One matrix: a heat map on a canvas, what is marked on a second one, and a cell of a grid that the
// keys move.
import { colourBytes, isDeep } from "./colours.js";
import { element } from "../../../report/page/dom.js";
import { marksOf, paintMarks } from "./marks.js";
import { Kept } from "../lesson/kept.js";
import { isFocusOfReader } from "../frame/focus.js";
import { beforeNextFrame } from "../frame/next_frame.js";

const narrowest = 28;
const numberHeight = 14;
const smallestFont = 9.5;
const widthOfDigit = 0.56; // of the height of letters

// What the numbers in its cells are multiplied by: "× 10⁻⁷", or nothing.
export function powerOf({ exponent }) {
  const text = exponent === 0 ? [] : ["× 10", element("sup", { text: String(exponent).replace("-", "−") })];
  return element("span", { class: "power" }, text);
}

// The first and last row and column of the cells that look otherwise than before, or null; without a look before, all.
function rangeOfChanges(before, now, { rows, columns }) {
  if (!before || before.font !== now.font || before.image.data.length !== now.image.data.length) {
    return { rows: [0, rows - 1], columns: [0, columns - 1] };
  }
  const [was, is] = [before.image.data, now.image.data].map(({ buffer }) => new Uint32Array(buffer));
  const found = { rows: [rows, -1], columns: [columns, -1] };
  const add = (ends, at) => {
    ends[0] = Math.min(ends[0], at);
    ends[1] = Math.max(ends[1], at);
  };
  for (let i = 0; i < is.length; i++) {
    if (was[i] === is[i] && before.texts[i] === now.texts[i] && before.inks[i] === now.inks[i]) continue;
    add(found.rows, Math.floor(i / columns));
    add(found.columns, i % columns);
  }
  return found.rows[1] < 0 ? null : found;
}

export class HeatMap {
  // matrix: see matrices.js; chosen({row, column}), pointed({row, column} or null, event)
  constructor(matrix, { colours, chosen, pointed, largestFont = 17, labelSize = 11 }) {
    this.matrix = matrix;
    this.colours = colours;
    this.chosen = chosen;
    this.pointed = pointed;
    this.largestFont = largestFont;
    this.labelSize = labelSize;
    this.base = element("canvas", { "aria-hidden": "true" });
    this.onePixelEach = element("canvas");
    this.marks = element("canvas", { "aria-hidden": "true", class: "marks" });
    this.cell = element("div", { role: "gridcell", tabindex: "0", class: "cursor" });
    this.row = element("div", { role: "row" }, this.cell);
    const { rows, columns } = matrix.grid;
    this.gridElement = element(
      "div",
      {
        role: "grid",
        class: "grid",
        "aria-label": matrix.title,
        "aria-rowcount": rows,
        "aria-colcount": columns,
        "data-matrix": matrix.key,
        "data-value": matrix.value,
      },
      this.row,
    );
    this.root = element(
      "div",
      { class: "heat-map" },
      element("div", { class: "sheet" }, this.base, this.marks, this.gridElement),
    );
    this.marked = { chosen: null, lit: [], fed: [] };
    this.hasMarks = false;
    this.kept = new Kept(); // what stands around it, and depends on its numbers
    this.paintCells = this.paintCells.bind(this);
    this.paintMarked = this.paintMarked.bind(this);
    this.scrollToCell = this.scrollToCell.bind(this);
    this.moveCell({ row: 0, column: 0 });
    this.listen();
  }

  listen() {
    this.cell.addEventListener("keydown", (event) => this.keyPressed(event));
    this.cell.addEventListener("focus", () => {
      if (!this.isChosen && isFocusOfReader()) this.choose(this.at);
    });
    this.marks.addEventListener("click", (event) => {
      const at = this.cellUnder(event);
      if (at) this.choose(at, true);
    });
    this.marks.addEventListener("pointermove", (event) =>
      this.pointed(this.cellUnder(event), event),
    );
    this.marks.addEventListener("pointerleave", (event) => this.pointed(null, event));
  }

  // Room for the cells, in pixels; the names of rows and columns come on top.
  fit({ cellWidth, cellHeight, gutter, header, namesRows, namesColumns }) {
    const { rows, columns } = this.matrix.grid;
    this.cellWidth = cellWidth;
    this.cellHeight = cellHeight;
    this.namesRows = namesRows;
    this.namesColumns = namesColumns;
    this.left = gutter;
    this.top = header;
    this.width = Math.ceil(this.left + columns * cellWidth) + 2;
    this.height = Math.ceil(this.top + rows * cellHeight) + 2;
    for (const canvas of [this.base, this.marks]) {
      canvas.width = Math.round(this.width * devicePixelRatio);
      canvas.height = Math.round(this.height * devicePixelRatio);
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${this.height}px`;
      canvas.getContext("2d").setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    }
    this.paint();
    this.paintMarked();
    this.placeCell();
  }

  // Other numbers in the same cells.
  renumber(matrix) {
    this.matrix = matrix;
    if (this.gridElement.dataset.value !== String(matrix.value)) this.gridElement.dataset.value = matrix.value;
    beforeNextFrame(this.root, this.paintCells);
    this.moveCell({ row: 0, column: 0 }); // what is chosen is marked afterwards
  }

  paint() {
    const context = this.base.getContext("2d");
    context.clearRect(0, 0, this.width, this.height);
    this.paintNames(context);
    this.painted = null;
    this.paintCells();
  }

  // Where cells look otherwise than they are painted.
  paintCells() {
    const { matrix, cellWidth, cellHeight, left, top } = this;
    const { rows, columns } = matrix.grid;
    const now = this.looksOfCells();
    const changed = rangeOfChanges(this.painted, now, matrix.grid);
    this.painted = now;
    if (!changed) return;
    const context = this.base.getContext("2d");
    const across = columns * cellWidth;
    const down = rows * cellHeight;
    context.save();
    this.clear(context, changed);
    context.imageSmoothingEnabled = false;
    this.onePixelEach.getContext("2d").putImageData(now.image, 0, 0);
    context.drawImage(this.onePixelEach, left, top, across, down);
    if (cellWidth > 14 && cellHeight > 10) this.paintGaps(context, across, down);
    this.paintLines(context);
    if (now.font) this.paintNumbers(context, now, changed);
    context.restore();
  }

  // These cells alone are painted until the context is restored: in whole pixels, with the lines around.
  clear(context, { rows, columns }) {
    const { cellWidth, cellHeight, left, top } = this;
    const [[firstRow, lastRow], [firstColumn, lastColumn]] = [rows, columns];
    const pixel = (x) => Math.floor(x * devicePixelRatio) / devicePixelRatio;
    const [x, y] = [pixel(left + firstColumn * cellWidth - 1), pixel(top + firstRow * cellHeight - 1)];
    const [right, bottom] = [pixel(left + (lastColumn + 1) * cellWidth + 2), pixel(top + (lastRow + 1) * cellHeight + 2)];
    context.beginPath();
    context.rect(x, y, right - x, bottom - y);
    context.clip();
    context.clearRect(x, y, right - x, bottom - y);
  }

  // {image: one pixel for a cell, font: of the texts, or null, texts, inks: of the cells, row by row}
  looksOfCells() {
    const { matrix, colours } = this;
    const { grid, size, hue } = matrix;
    const canvas = this.onePixelEach;
    if (canvas.width !== grid.columns) canvas.width = grid.columns;
    if (canvas.height !== grid.rows) canvas.height = grid.rows;
    const image = new ImageData(grid.columns, grid.rows);
    const write = colourBytes(colours, hue, size);
    const hasRoom = this.cellWidth >= narrowest && this.cellHeight >= numberHeight;
    const [texts, inks] = [[], []];
    let at = 0;
    for (let row = 0; row < grid.rows; row++) {
      for (let column = 0; column < grid.columns; column++, at += 4) {
        const isHidden = matrix.isHiddenCell(row, column);
        const x = matrix.rounded(row, column);
        write(isHidden ? NaN : x, image.data, at);
        if (!hasRoom) continue;
        texts.push(matrix.cellText(row, column));
        const ink = isDeep(x, size, hue) && !isHidden ? colours.inverse : colours.ink;
        inks.push(x === 0 && !isHidden ? colours.faint : ink);
      }
    }
    const font = hasRoom ? this.numberFont(texts) : null;
    return font ? { image, font, texts, inks } : { image, font, texts: [], inks: [] };
  }

  paintGaps(context, across, down) {
    const { matrix, colours, cellWidth, cellHeight, left, top } = this;
    context.fillStyle = colours.zero;
    for (let row = 1; row < matrix.grid.rows; row++) {
      context.fillRect(left, top + row * cellHeight - 1, across, 1);
    }
    for (let column = 1; column < matrix.grid.columns; column++) {
      context.fillRect(left + column * cellWidth - 1, top, 1, down);
    }
  }

  paintLines(context) {
    const { colours, cellWidth, cellHeight, left, top } = this;
    const { rows, columns, band } = this.matrix.grid;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.strokeRect(left - 0.5, top - 0.5, columns * cellWidth + 1, rows * cellHeight + 1);
    if (!band) return;
    context.strokeStyle = colours.ink;
    for (let column = band; column < columns; column += band) {
      const x = Math.round(left + column * cellWidth) - 0.5;
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, top + rows * cellHeight);
      context.stroke();
    }
  }

  // The size in which every number fits into its cell, or null.
  numberFont(texts) {
    const { cellWidth, cellHeight } = this;
    const longest = texts.reduce((most, text) => Math.max(most, text.length), 1);
    const fitting = (cellWidth - 3) / (longest * widthOfDigit);
    const font = Math.min(this.largestFont, cellHeight * 0.5, fitting);
    return fitting < smallestFont ? null : Math.max(smallestFont, font);
  }

  paintNumbers(context, { font, texts, inks }, changed) {
    const { matrix, colours, cellWidth, cellHeight, left, top } = this;
    const { columns } = matrix.grid;
    context.font = `${font}px ${colours.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let row = changed.rows[0]; row <= changed.rows[1]; row++) {
      for (let column = changed.columns[0]; column <= changed.columns[1]; column++) {
        context.fillStyle = inks[row * columns + column];
        context.fillText(texts[row * columns + column], left + (column + 0.5) * cellWidth, top + (row + 0.5) * cellHeight);
      }
    }
  }

  paintNames(context) {
    const { matrix, colours, cellWidth, cellHeight, left, top } = this;
    context.font = `${this.labelSize}px ${colours.font}`;
    context.fillStyle = colours.faint;
    context.textBaseline = "middle";
    if (left > 0 && this.namesRows) {
      const every = Math.max(1, Math.ceil(this.labelSize / cellHeight));
      context.textAlign = "right";
      for (let row = 0; row < matrix.grid.rows; row += every) {
        const y = top + (row + 0.5) * cellHeight;
        context.fillText(matrix.rowLabel(row), left - 5, y, left - 6);
      }
    }
    if (top > 0 && this.namesColumns) this.paintColumnNames(context, cellWidth, left, top);
  }

  paintColumnNames(context, cellWidth, left, top) {
    const { matrix } = this;
    const every = Math.max(1, Math.ceil((this.labelSize + 1) / cellWidth));
    for (let column = 0; column < matrix.grid.columns; column += every) {
      const x = left + (column + 0.5) * cellWidth;
      const name = matrix.columnLabel(column);
      if (!matrix.turnsNames(cellWidth)) {
        context.textAlign = "center";
        context.fillText(name, x, top - 8);
        continue;
      }
      context.save();
      context.translate(x, top - 4);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(name, 0, 0, top - 6);
      context.restore();
    }
  }

  // chosen: {row, column} or null; lit and fed: what lights up, by value and index
  mark({ chosen, lit, fed }) {
    this.marked = { chosen, lit, fed };
    this.isChosen = Boolean(chosen);
    if (chosen) this.moveCell(chosen);
    const isSelected = String(this.isChosen);
    if (this.cell.getAttribute("aria-selected") !== isSelected) this.cell.setAttribute("aria-selected", isSelected);
    beforeNextFrame(this.root, this.paintMarked);
  }

  paintMarked() {
    const { chosen } = this.marked;
    const [lit, fed] = [this.marked.lit, this.marked.fed].map((cells) => marksOf(this.matrix, cells));
    const hadMarks = this.hasMarks;
    this.hasMarks = Boolean(chosen) || lit.size + fed.size > 0;
    if (hadMarks || this.hasMarks) paintMarks(this, { chosen, lit, fed });
  }

  moveCell({ row, column }) {
    const { rows, columns } = this.matrix.grid;
    const at = { row: Math.min(row, rows - 1), column: Math.min(column, columns - 1) };
    const text = this.matrix.describe(at.row, at.column);
    if (this.at?.row === at.row && this.at.column === at.column && this.toldOfCell === text) return;
    this.at = at;
    this.toldOfCell = text;
    if (this.cellWidth) this.placeCell(); // otherwise fit() does
    this.row.setAttribute("aria-rowindex", at.row + 1);
    this.cell.setAttribute("aria-colindex", at.column + 1);
    this.cell.setAttribute("aria-label", text);
  }

  placeCell() {
    const { style } = this.cell;
    style.left = `${this.left + this.at.column * this.cellWidth}px`;
    style.top = `${this.top + this.at.row * this.cellHeight}px`;
    style.width = `${this.cellWidth}px`;
    style.height = `${this.cellHeight}px`;
  }

  choose(at, withFocus = false) {
    this.moveCell(at);
    this.chosen(this.at);
    if (withFocus) this.cell.focus({ preventScroll: true });
    beforeNextFrame(this.root, this.scrollToCell);
  }

  scrollToCell() {
    this.cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  keyPressed(event) {
    const { rows, columns } = this.matrix.grid;
    const { row, column } = this.at;
    const moves = {
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      Home: [event.ctrlKey ? 0 : row, 0],
      End: [event.ctrlKey ? rows - 1 : row, columns - 1],
      PageUp: [row - 10, column],
      PageDown: [row + 10, column],
    };
    const to = event.altKey || event.metaKey ? undefined : moves[event.key];
    if (!to) return;
    event.preventDefault();
    event.stopPropagation();
    const within = (x, count) => Math.max(0, Math.min(count - 1, x));
    this.choose({ row: within(to[0], rows), column: within(to[1], columns) });
  }

  cellUnder(event) {
    const box = this.marks.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - this.left) / this.cellWidth);
    const row = Math.floor((event.clientY - box.top - this.top) / this.cellHeight);
    const { rows, columns } = this.matrix.grid;
    return row >= 0 && row < rows && column >= 0 && column < columns ? { row, column } : null;
  }
}
