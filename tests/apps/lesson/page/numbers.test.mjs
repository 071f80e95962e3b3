import assert from "node:assert/strict";
import test from "node:test";
import {
  decodeNumbers,
  fullNumber,
  numberOfJson,
  shortNumber,
} from "../../../../apps/lesson/page/ops/numbers.js";

const encoded = (numbers) => btoa(String.fromCharCode(...new Uint8Array(numbers.buffer)));

test("numbers come back from base64 as they were", () => {
  const numbers = [0, -0, 0.1, -1e-300, 1e300, Infinity, -Infinity, NaN];
  const back = decodeNumbers({ f64: encoded(Float64Array.from(numbers)) });
  numbers.forEach((x, i) => assert.ok(Object.is(back[i], x)));
  assert.deepEqual([...decodeNumbers({ i32: encoded(Int32Array.of(3, -1, 0)) })], [3, -1, 0]);
  assert.deepEqual([...decodeNumbers({ u8: encoded(Uint8Array.of(1, 0, 1)) })], [1, 0, 1]);
  assert.deepEqual([...decodeNumbers({ f64: "AAAAAAAA8D8=" })], [1]); // little endian
});

test("three significant digits", () => {
  const cases = {
    0.021345: "0.0213",
    12.345: "12.3",
    999.6: "1000",
    "-0.5": "−0.500",
    4.5678e-7: "4.57e−7",
    123456: "1.23e5",
    0.00099996: "0.00100",
    99999.6: "1.00e5",
  };
  for (const [number, text] of Object.entries(cases))
    assert.equal(shortNumber(Number(number)), text);
  assert.deepEqual([0, -0, NaN, -Infinity].map(shortNumber), ["0", "0", "NaN", "−∞"]);
});

test("a number comes back from all its digits", () => {
  for (const x of [0.1, -1 / 3, 2 ** -1074, 1e300, 5]) assert.equal(Number(fullNumber(x)), x);
});

test("infinity comes as a text", () => {
  assert.deepEqual(["-inf", "-Infinity", "inf", 0.5].map(numberOfJson), [
    -Infinity,
    -Infinity,
    Infinity,
    0.5,
  ]);
});
