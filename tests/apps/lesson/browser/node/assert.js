// What the unit tests of the page's modules use of node:assert/strict, in a browser.
function fail(message, otherwise) {
  throw message instanceof Error ? message : new Error(message ?? otherwise);
}

const shown = (x) => {
  if (ArrayBuffer.isView(x)) return `[${[...x].slice(0, 8)}]`;
  try {
    return JSON.stringify(x)?.slice(0, 200);
  } catch {
    return String(x);
  }
};

function isSame(a, b) {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (a instanceof Map || a instanceof Set) return isSame([...a], [...b]);
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && isSame(a[key], b[key]));
}

export function ok(x, message) {
  if (!x) fail(message, `${shown(x)} is not true`);
}

export function equal(a, b, message) {
  if (!Object.is(a, b)) fail(message, `${shown(a)} is not ${shown(b)}`);
}

export function notEqual(a, b, message) {
  if (Object.is(a, b)) fail(message, `${shown(a)} is what it should not be`);
}

export function deepEqual(a, b, message) {
  if (!isSame(a, b)) fail(message, `${shown(a)} is not ${shown(b)}`);
}

export function notDeepEqual(a, b, message) {
  if (isSame(a, b)) fail(message, `${shown(a)} is what it should not be`);
}

export function throws(call, message) {
  try {
    call();
  } catch {
    return;
  }
  fail(typeof message === "string" ? message : undefined, "nothing was thrown");
}

export function match(text, pattern, message) {
  if (!pattern.test(text)) fail(message, `${shown(text)} does not match ${pattern}`);
}

export { deepEqual as deepStrictEqual, equal as strictEqual, notEqual as notStrictEqual };

const assert = (x, message) => ok(x, message);
export default Object.assign(assert, {
  ok, equal, notEqual, deepEqual, notDeepEqual, throws, match, strictEqual: equal, notStrictEqual: notEqual,
  deepStrictEqual: deepEqual, fail: (message) => fail(message, "failed"),
});
