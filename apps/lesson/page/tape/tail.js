// The forward pass after a change of one number, only in those rows that change: a query is of one
// token, and until tokens meet, all that comes of it is. A row is what lies along the last axis.
import { opNamed } from "../ops/list.js";
import { sizeOf, stridedIndices, stridesOf } from "../ops/shapes.js";

/** @param {Shape} shape */
const widthOf = (shape) => shape.at(-1) ?? 1;
/** @param {Shape} shape */
const rowCount = (shape) => sizeOf(shape) / (widthOf(shape) || 1);

/** @type {<T extends Tensor>(tensor: T, rows: NumberList) => T} */
function pickedRows({ data, shape, ...rest }, rows) {
  const width = widthOf(shape);
  const picked = new Float64Array(rows.length * width);
  rows.forEach((row, i) => picked.set(data.subarray(row * width, (row + 1) * width), i * width));
  return /** @type {any} */ ({ ...rest, shape: [rows.length, width], data: picked });
}

// Where each row of the output is made of the same row of what the op reads. Other inputs, weights,
// are in `rowInputs` not.
/** @param {OpNode} node @param {OpKind} kind @param {ChangedRows} changed */
function inSameRows(node, kind, changed) {
  /** @param {number} input */
  const isByRow = (input) => kind.rowInputs?.includes(input) ?? true;
  const whole = node.inputs.filter((_, input) => !isByRow(input));
  const arrays = Object.entries(node.attributes).filter(([, x]) => x?.data);
  if ([...whole, ...arrays.map(([, x]) => x)].some(({ value }) => changed.has(value))) return null;
  const rows = unionOf(node.inputs.map(({ value }) => changed.get(value)));
  const inputs = node.inputs.map((x, input) => (isByRow(input) ? pickedRows(x, rows) : x));
  const picked = Object.fromEntries(arrays.map(([name, x]) => [name, pickedRows(x, rows)]));
  const attributes = { ...node.attributes, ...picked };
  const shape = [rows.length, widthOf(node.shape)];
  return { rows, data: kind.run({ ...node, inputs, attributes, shape }) };
}

// The same numbers in rows of another width.
/** @param {OpNode} node @param {ChangedRows} changed */
function inOtherRows({ inputs: [x], shape }, changed) {
  const [from, to] = [widthOf(x.shape), widthOf(shape)];
  const rows = new Set();
  for (const row of changed.get(x.value)) {
    const last = Math.floor(((row + 1) * from - 1) / to);
    for (let other = Math.floor((row * from) / to); other <= last; other++) rows.add(other);
  }
  return { rows: [...rows], data: pickedRows({ data: x.data, shape }, [...rows]).data };
}

// Rows in another order.
/** @param {OpNode} node @param {ChangedRows} changed */
function permutedRows({ inputs: [x], attributes: { axes }, shape }, changed) {
  const outer = x.shape.slice(0, -1);
  if (axes.at(-1) !== outer.length) return null;
  const strides = stridesOf(outer);
  const sources = stridedIndices(
    shape.slice(0, -1),
    axes.slice(0, -1).map((/** @type {number} */ axis) => strides[axis]),
  );
  const isChanged = new Set(changed.get(x.value));
  /** @type {number[]} */
  const rows = [];
  sources.forEach((source, row) => isChanged.has(source) && rows.push(row));
  const from = rows.map((row) => sources[row]);
  return { rows, data: pickedRows(x, from).data };
}

// A row of a product is made of a row of A and all of B.
/** @param {OpNode} node @param {OpKind} kind @param {ChangedRows} changed */
function productRows(node, kind, changed) {
  const [a, b] = node.inputs;
  if (changed.has(b.value) || node.attributes.transpose_a || a.shape[0] !== b.shape[0]) return null;
  const [, height] = a.shape;
  const rows = changed.get(a.value);
  const data = new Float64Array(rows.length * widthOf(node.shape));
  rows.forEach((row, i) => {
    const matrix = Math.floor(row / height);
    const size = b.shape[1] * b.shape[2];
    const right = b.data.subarray(matrix * size, (matrix + 1) * size);
    const inputs = [
      { ...pickedRows(a, [row]), shape: [1, 1, a.shape[2]] },
      { ...b, shape: [1, b.shape[1], b.shape[2]], data: right },
    ];
    const shape = [1, 1, widthOf(node.shape)];
    data.set(kind.run({ ...node, inputs, shape }), i * widthOf(node.shape));
  });
  return { rows, data };
}

/** @param {number[][]} lists */
function unionOf(lists) {
  return [...new Set(lists.flatMap((rows) => rows ?? []))];
}

/** @param {Op} op @param {OpNode} node @param {ChangedRows} changed */
function someRows(op, node, changed) {
  const kind = opNamed(op.op);
  if (op.op === "matmul") return productRows(node, kind, changed);
  if (op.op === "permute") return permutedRows(node, changed);
  if (op.op === "reshape" || op.op === "cast") return inOtherRows(node, changed);
  return kind.byRows ? inSameRows(node, kind, changed) : null;
}

// Runs the ops again where a value has another number at `index`, and gives the number of `result`.
// What does not change is that of the tape. `through`: the first of the ops, which alone reads the
// other number.
/**
 * @param {Tape} tape
 * @param {Op[]} ops
 * @param {{ value: number, index: number, number: number, result: number, through?: Op }} options
 */
export function numberAfterChange(tape, ops, { value, index, number, result, through }) {
  const before = tape.values;
  const values = before.slice();
  values[value] = withRows(before[value], [index], Float64Array.of(number), 1);
  const changed = new Map([[value, [Math.floor(index / widthOf(before[value].shape))]]]);
  for (const op of ops) {
    if (!op.reads.some((each) => changed.has(each))) continue;
    const node = tape.node(op, values);
    const old = before[op.output];
    const width = widthOf(old.shape);
    const part = someRows(op, node, changed);
    const after = part
      ? withRows(old, part.rows, part.data, width)
      : { shape: old.shape, data: opNamed(op.op).run(node) };
    const rows = part ? part.rows : Array.from({ length: rowCount(old.shape) }, (_, row) => row);
    const differing = rows.filter((row) => rowDiffers(old.data, after.data, row * width, width));
    values[op.output] = after;
    if (differing.length > 0) changed.set(op.output, differing);
    if (op === through) {
      values[value] = before[value];
      changed.delete(value);
    }
  }
  return values[result].data[0];
}

// The same tensor with other numbers in some rows.
/** @param {Tensor} tensor @param {number[]} rows @param {Numbers} numbers @param {number} width */
function withRows({ shape, data }, rows, numbers, width) {
  const copy = Float64Array.from(data);
  rows.forEach((row, i) => copy.set(numbers.subarray(i * width, (i + 1) * width), row * width));
  return { shape, data: copy };
}

/** @param {Numbers} a @param {Numbers} b @param {number} start @param {number} width */
function rowDiffers(a, b, start, width) {
  for (let i = start; i < start + width; i++) if (!Object.is(a[i], b[i])) return true;
  return false;
}
