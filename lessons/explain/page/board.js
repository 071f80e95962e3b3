// How large the cells of a step's matrices may be, so that the step fits into its place.

const captionHeight = 26;
const legendHeight = 18;
const gap = 10;
const smallest = { width: 3, height: 3 };
const numbers = { width: 54, height: 22 };

const room = (parts, at) => parts.reduce((sum, part) => sum + (part[at] ?? 0), 0);
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
    const total = open.reduce((sum, i) => sum + weights[i], 0);
    const full = open.filter((i) => (left * weights[i]) / total / counts[i] >= most);
    const settled = full.length > 0 ? full : open;
    const share = (i) => (full.length > 0 ? most : (left * weights[i]) / total / counts[i]);
    for (const i of settled) sizes[i] = Math.max(least, share(i));
    left = Math.max(0, left - settled.reduce((sum, i) => sum + sizes[i] * counts[i], 0));
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
  const cells = sizes.cells.map(({ cellWidth, cellHeight }) => ({
    cellWidth: Math.max(cellWidth, numbers.width),
    cellHeight: Math.max(cellHeight, numbers.height),
  }));
  return { ...sizes, cells, isStacked: true };
}

function productSizes(matrices, width, height, most) {
  const left = matrices[0];
  const result = matrices[matrices.length - 1];
  const top = matrices.slice(1, -1);
  const forWidth = width - left.gutter - Math.max(...top.map(({ gutter }) => gutter)) - gap - 8;
  const counts = [left.grid.columns, result.grid.columns];
  const widths = cellSizes(counts, forWidth, { least: 0, most: most.width });
  if (Math.min(...widths) < smallest.width) return null;
  const used = captionHeight + legendHeight;
  const forHeight = height - (top.length + 1) * used - room(top, "header") - result.header - gap;
  const rows = [top[0].grid.rows, result.grid.rows];
  const singles = (top.length - 1) * 18;
  const heights = cellSizes(rows, Math.max(forHeight - singles, 180), {
    least: smallest.height,
    most: most.height,
  });
  const cells = matrices.map((matrix, i) => ({
    cellWidth: widths[i === 0 ? 0 : 1],
    cellHeight: i === 0 || i === matrices.length - 1 ? heights[1] : i === 1 ? heights[0] : 18,
  }));
  return { cells, isStacked: false };
}

function stackSizes(matrices, width, height, most) {
  const used = matrices.length * (captionHeight + legendHeight + gap) + room(matrices, "header");
  const tall = matrices.filter((matrix) => rowsIn(matrix) > 1);
  const singles = (matrices.length - tall.length) * 18;
  const forHeight = Math.max(height - used - singles, 90 * tall.length);
  const heights = cellSizes(tall.map(rowsIn), forHeight, {
    least: smallest.height,
    most: most.height,
  });
  const cells = matrices.map((matrix) => {
    const fitting = (width - matrix.gutter - 8) / matrix.grid.columns;
    return {
      cellWidth: Math.min(most.width, Math.max(smallest.width, fitting)),
      cellHeight: tall.includes(matrix) ? heights[tall.indexOf(matrix)] : 20,
    };
  });
  return { cells, isStacked: true };
}
