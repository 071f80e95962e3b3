// What the unit tests of the page's modules use of node:assert/strict, in a browser.
const shown = (x) => (ArrayBuffer.isView(x) ? `[${[...x].slice(0, 8)}]` : String(JSON.stringify(x)).slice(0, 200));

function isSame(a, b) {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && isSame(a[key], b[key]));
}

function check(holds, message, otherwise) {
  if (!holds) throw new Error(message ?? otherwise);
}

export default {
  ok: (x, message) => check(x, message, `${shown(x)} is not true`),
  equal: (a, b, message) => check(Object.is(a, b), message, `${shown(a)} is not ${shown(b)}`),
  notEqual: (a, b, message) => check(!Object.is(a, b), message, `${shown(a)} is what it should not be`),
  deepEqual: (a, b, message) => check(isSame(a, b), message, `${shown(a)} is not ${shown(b)}`),
};
