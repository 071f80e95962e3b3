// Row-major shapes and flat indices.

/** @param {Shape} shape */
export function sizeOf(shape) {
  return shape.reduce((size, n) => size * n, 1);
}

/** @param {Shape} shape */
export function stridesOf(shape) {
  const strides = new Array(shape.length);
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

// For each element of `shape`, in order, start + Σ coordinate × stride.
/** @param {Shape} shape @param {number[]} strides @param {number} [start] */
export function stridedIndices(shape, strides, start = 0) {
  const indices = new Int32Array(sizeOf(shape));
  if (indices.length === 0) return indices;
  let next = 0;
  /** @param {number} axis @param {number} at */
  const walk = (axis, at) => {
    if (axis === shape.length) {
      indices[next++] = at;
    } else if (axis === shape.length - 1) {
      for (let i = 0; i < shape[axis]; i++) indices[next++] = at + i * strides[axis];
    } else {
      for (let i = 0; i < shape[axis]; i++) walk(axis + 1, at + i * strides[axis]);
    }
  };
  walk(0, start);
  return indices;
}

// The strides with which `small` is read as `large`, to which it broadcasts.
/** @param {Shape} small @param {Shape} large */
export function broadcastStrides(small, large) {
  const strides = stridesOf(small);
  const missing = large.length - small.length;
  return large.map((_, axis) =>
    axis < missing || small[axis - missing] === 1 ? 0 : strides[axis - missing],
  );
}

// shape = [outer…, n, inner…] around an axis.
/** @param {Shape} shape @param {number} axis */
export function aroundAxis(shape, axis) {
  return {
    outer: sizeOf(shape.slice(0, axis)),
    n: shape[axis],
    inner: sizeOf(shape.slice(axis + 1)),
  };
}
