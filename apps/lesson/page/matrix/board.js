// How large the cells of a step's matrices may be, so that the step fits into its place.

const captionHeight = 28;
const legendHeight = 18;
const gap = 8;
const singleRow = 20;
export const leastWidth = 150; // for a caption, and for the ends of a scale
const fewColumns = 8;
const smallest = { width: 3, height: 3 };
const roomForNumbers = { width: 54, height: 22 };

const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
const rowsIn = ({ grid }) => grid.rows;

// Shares of a length for several counts of cells: by their square roots, so that few are wider than
// many; what one cannot use goes to the others.
export function cellSizes(counts, length, { least, most }) {
  const weights = counts.map(Math.sqrt);
  const sizes = counts.map(() => null);
  let left = length;
  for (;;) {
    const open = counts.map((_, i) => i).filter((i) => sizes[i] === null);
    if (open.length === 0) return sizes;
    const total = sum(open.map((i) => weights[i]));
    const full = open.filter((i) => (left * weights[i]) / total / counts[i] >= most);
    const settled = full.length > 0 ? full : open;
    const share = (i) => (full.length > 0 ? most : (left * weights[i]) / total / counts[i]);
    for (const i of settled) sizes[i] = Math.max(least, share(i));
    left = Math.max(0, left - sum(settled.map((i) => sizes[i] * counts[i])));
  }
}

// layout: the step's; matrices in the order of its parts; returns a size for each of them, and
// whether a product must be stacked after all.
export function fitBoard(layout, matrices, { width, height, zoom, largest }) {
  const most = { width: largest, height: largest / 2 };
  const sizes =
    (layout.kind === "product" && productSizes(matrices, width, height, most)) ||
    stackSizes(matrices, width, height, most);
  if (zoom !== "numbers") return sizes;
  const cells = stackSizes(matrices, width, height, most).cells.map((size, i) => {
    const cellWidth = Math.max(size.cellWidth, roomForNumbers.width);
    const cellHeight = Math.max(size.cellHeight, roomForNumbers.height);
    return { ...size, cellWidth, cellHeight, header: matrices[i].headerFor(cellWidth) };
  });
  return { cells, isStacked: true, inTwo: false };
}

// A product stands as one computes it by hand: the left factor, the right one above, the result in
// the corner between them. What has the same rows or columns names them once.
function productSizes(matrices, width, height, most) {
  const left = matrices[0];
  const result = matrices[matrices.length - 1];
  const top = matrices.slice(1, -1);
  const gutter = Math.max(...top.map((matrix) => matrix.gutter));
  const counts = [left.grid.columns, result.grid.columns];
  const forWidth = width - left.gutter - gutter - gap - 20;
  const widths = cellSizes(counts, forWidth, { least: 0, most: most.width });
  const right = Math.max(widths[1] * counts[1], leastWidth - gutter - 8);
  widths[0] = Math.min(widths[0], (forWidth - right) / counts[0]);
  if (Math.min(...widths) < smallest.width) return null;
  const headers = top.map((matrix) => matrix.headerFor(widths[1]));
  const isNamedAbove = headers.some((size) => size > 0);
  const lower = Math.max(left.headerFor(widths[0]), isNamedAbove ? 0 : result.headerFor(widths[1]));
  const used = (captionHeight + legendHeight + gap) * (top.length + 1) + sum(headers) + lower;
  const singles = (top.length - 1) * singleRow;
  const rows = [top[0].grid.rows, result.grid.rows];
  const heights = cellSizes(rows, Math.max(height - used - singles, 160), {
    least: smallest.height,
    most: most.height,
  });
  const cells = matrices.map((matrix, i) => {
    const isLower = i === 0 || matrix === result;
    return {
      cellWidth: widths[i === 0 ? 0 : 1],
      cellHeight: isLower ? heights[1] : i === 1 ? heights[0] : singleRow,
      gutter: i === 0 ? left.gutter : gutter,
      header: isLower ? lower : headers[i - 1],
      namesRows: matrix !== result,
      namesColumns: !isLower || i === 0 || !isNamedAbove,
    };
  });
  return { cells, isStacked: false, inTwo: false };
}

// One below the other, or in two columns where cells would be much wider than high.
function stackSizes(matrices, width, height, most) {
  const one = columnSizes(matrices, width, height, most);
  const wide = one.cells.filter((cell) => cell.cellWidth > 2 * cell.cellHeight);
  if (matrices.length < 2 || wide.length <= matrices.length / 2) return one;
  if (matrices.every(({ grid }) => grid.columns <= fewColumns)) return one; // with their numbers
  const half = (width - gap) / 2;
  if (matrices.some((matrix) => (half - matrix.gutter - 14) / matrix.grid.columns < 4)) return one;
  const lines = Math.ceil(matrices.length / 2);
  const two = columnSizes(matrices, half, (height * matrices.length) / lines, most);
  return { ...two, inTwo: true };
}

function columnSizes(matrices, width, height, most) {
  const widths = matrices.map((matrix) => {
    const fitting = (width - matrix.gutter - 14) / matrix.grid.columns;
    return Math.min(most.width, Math.max(smallest.width, fitting));
  });
  const headers = matrices.map((matrix, i) => matrix.headerFor(widths[i]));
  const used = matrices.length * (captionHeight + legendHeight + gap) + sum(headers);
  const tall = matrices.filter((matrix) => rowsIn(matrix) > 1);
  const singles = (matrices.length - tall.length) * singleRow;
  const forHeight = Math.max(height - used - singles, 90 * tall.length);
  const heights = cellSizes(tall.map(rowsIn), forHeight, {
    least: smallest.height,
    most: most.height,
  });
  const cells = matrices.map((matrix, i) => ({
    cellWidth: widths[i],
    cellHeight: tall.includes(matrix) ? heights[tall.indexOf(matrix)] : singleRow,
    gutter: matrix.gutter,
    header: headers[i],
    namesRows: true,
    namesColumns: true,
  }));
  return { cells, isStacked: true, inTwo: false };
}
