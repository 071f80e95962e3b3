// How a value is seen as a matrix: which rows and columns, which element is in which cell. Every
// look is the same arithmetic: flat index = start + row × rowStride + column × columnStride.
import { sizeOf } from "../ops/shapes.js";

const looks = {
  // the last axis is a row; all others together are the rows
  rows(shape) {
    const columns = shape.length > 0 ? shape[shape.length - 1] : 1;
    const rows = columns > 0 ? sizeOf(shape) / columns : 0;
    return { rows, columns, start: 0, rowStride: columns, columnStride: 1 };
  },
  // [n] down
  column(shape) {
    return { rows: sizeOf(shape), columns: 1, start: 0, rowStride: 1, columnStride: 1 };
  },
  // one head of [1, T, heads, d_k]
  head([, T, heads, width], head, headsOfQueries) {
    const own = headOf(head, heads, headsOfQueries);
    const rowStride = heads * width;
    return { rows: T, columns: width, start: own * width, rowStride, columnStride: 1, heads };
  },
  // the same, turned: d_k rows, T columns
  headTurned(shape, head, headsOfQueries) {
    return turned(looks.head(shape, head, headsOfQueries));
  },
  // all heads of [1, T, heads, d_k] side by side
  heads([, T, heads, width]) {
    const columns = heads * width;
    return { rows: T, columns, start: 0, rowStride: columns, columnStride: 1, band: width };
  },
  // one head of [1, heads, rows, columns]
  map([, heads, rows, columns], head, headsOfQueries) {
    const start = headOf(head, heads, headsOfQueries) * rows * columns;
    return { rows, columns, start, rowStride: columns, columnStride: 1, heads };
  },
  // one head of [heads, rows, columns]
  mapOfThree(shape, head, headsOfQueries) {
    return looks.map([1, shape[0], shape[1], shape[2]], head, headsOfQueries);
  },
  // one head of [heads, out, in], as it multiplies
  weightOfThree(shape, head, headsOfQueries) {
    return turned(looks.mapOfThree(shape, head, headsOfQueries));
  },
  // a weight [out, in] as it multiplies: in rows, out columns
  weight([out, inner]) {
    return { rows: inner, columns: out, start: 0, rowStride: 1, columnStride: inner };
  },
};

const turned = ({ rows, columns, rowStride, columnStride, ...rest }) => ({
  ...rest,
  rows: columns,
  columns: rows,
  rowStride: columnStride,
  columnStride: rowStride,
});

// With fewer heads of keys and values than of queries, several queries share one.
function headOf(head, heads, headsOfQueries = heads) {
  return Math.floor((head * heads) / headsOfQueries);
}

// part: {value, look, band: the columns of one head, cut: only the columns of this head}
export function gridOf(part, shape, head, headsOfQueries) {
  const grid = looks[part.look](shape, head, headsOfQueries);
  if (part.cut && grid.columns > part.cut) {
    const heads = grid.columns / part.cut;
    const own = headOf(head, heads, headsOfQueries);
    return {
      ...grid,
      columns: part.cut,
      start: grid.start + own * part.cut * grid.columnStride,
      heads,
    };
  }
  return part.band ? { ...grid, band: part.band } : grid;
}

export function indexIn(grid, row, column) {
  return grid.start + row * grid.rowStride + column * grid.columnStride;
}

// Where an element stands, or null.
export function cellIn(grid, index) {
  const rest = index - grid.start;
  if (rest < 0) return null;
  if (grid.rows === 1) return alongOne(rest / grid.columnStride, grid.columns, "column");
  if (grid.columns === 1) return alongOne(rest / grid.rowStride, grid.rows, "row");
  const isByRows = grid.rowStride >= grid.columnStride;
  const large = isByRows ? grid.rowStride : grid.columnStride;
  const small = isByRows ? grid.columnStride : grid.rowStride;
  const first = Math.floor(rest / large);
  const second = (rest - first * large) / small;
  if (!Number.isInteger(second)) return null;
  const [row, column] = isByRows ? [first, second] : [second, first];
  return row < grid.rows && column < grid.columns ? { row, column } : null;
}

function alongOne(at, length, axis) {
  if (!Number.isInteger(at) || at >= length) return null;
  return axis === "row" ? { row: at, column: 0 } : { row: 0, column: at };
}

export function largestMagnitude(data, grid) {
  let largest = 0;
  for (let row = 0; row < grid.rows; row++) {
    let at = grid.start + row * grid.rowStride;
    for (let column = 0; column < grid.columns; column++, at += grid.columnStride) {
      const size = Math.abs(data[at]);
      if (size > largest && size < Infinity) largest = size;
    }
  }
  return largest;
}
