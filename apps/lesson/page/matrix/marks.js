// What is marked on a heat map: the chosen cell, the operands that it was made of, what it feeds.
import { cellIn } from "../lesson/looks.js";

// The cells of a matrix among [{value, index}], as a map from "row:column".
export function marksOf(matrix, cells) {
  const found = new Map();
  for (const { value, index } of cells) {
    if (value !== matrix.value) continue;
    const at = cellIn(matrix.grid, index);
    if (at) found.set(`${at.row}:${at.column}`, at);
  }
  return found;
}

export function paintMarks(map, { chosen, lit, fed }) {
  const context = map.marks.getContext("2d");
  context.clearRect(0, 0, map.width, map.height);
  if (lit.size > 0) {
    dimOthers(map, context, lit);
    outline(map, context, lit, { colour: map.colours.lit, width: 2, dash: [] });
  }
  if (fed.size > 0)
    outline(map, context, fed, { colour: map.colours.fed, width: 1.5, dash: [3, 2] });
  if (chosen) paintChosen(map, context, chosen);
}

function dimOthers(map, context, lit) {
  const { left, top, cellWidth, cellHeight, matrix } = map;
  context.globalAlpha = 0.35;
  context.fillStyle = map.colours.zero;
  context.fillRect(left, top, matrix.grid.columns * cellWidth, matrix.grid.rows * cellHeight);
  context.globalAlpha = 1;
  for (const { row, column } of lit.values()) {
    const at = [left + column * cellWidth, top + row * cellHeight, cellWidth, cellHeight];
    context.clearRect(...at);
  }
}

// Around each group of neighbours one line.
function outline(map, context, cells, { colour, width, dash }) {
  const { left, top, cellWidth, cellHeight } = map;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  for (const { row, column } of cells.values()) {
    const x = left + column * cellWidth;
    const y = top + row * cellHeight;
    const side = (key, fromX, fromY, toX, toY) => {
      if (cells.has(key)) return;
      context.moveTo(fromX, fromY);
      context.lineTo(toX, toY);
    };
    side(`${row - 1}:${column}`, x, y, x + cellWidth, y);
    side(`${row + 1}:${column}`, x, y + cellHeight, x + cellWidth, y + cellHeight);
    side(`${row}:${column - 1}`, x, y, x, y + cellHeight);
    side(`${row}:${column + 1}`, x + cellWidth, y, x + cellWidth, y + cellHeight);
  }
  context.stroke();
  context.setLineDash([]);
}

function paintChosen(map, context, { row, column }) {
  const { left, top, cellWidth, cellHeight, colours, matrix } = map;
  const x = left + column * cellWidth;
  const y = top + row * cellHeight;
  context.strokeStyle = colours.zero;
  context.lineWidth = 4;
  context.strokeRect(x - 0.5, y - 0.5, cellWidth, cellHeight);
  context.strokeStyle = colours.cursor;
  context.lineWidth = 2;
  context.strokeRect(x - 0.5, y - 0.5, cellWidth, cellHeight);
  context.fillStyle = colours.cursor;
  context.font = `bold ${map.labelSize}px ${colours.font}`;
  context.textBaseline = "middle";
  if (left > 0 && map.namesRows) {
    context.textAlign = "right";
    paintOver(context, colours, matrix.rowLabel(row), left - 5, y + cellHeight / 2, left - 6);
  }
  if (top > 0 && map.namesColumns && !matrix.turnsNames(cellWidth)) {
    context.textAlign = "center";
    paintOver(context, colours, matrix.columnLabel(column), x + cellWidth / 2, top - 8, 60);
  }
}

function paintOver(context, colours, text, x, y, most) {
  context.strokeStyle = colours.zero;
  context.lineWidth = 5;
  context.strokeText(text, x, y, most);
  context.fillText(text, x, y, most);
}
