// Numbers as the document holds them, in base64, and as the page writes them.

// Little endian, which is the order of every machine that runs a browser.
/** @type {{ [type: string]: any }} */
const arrayTypes = { f64: Float64Array, f32: Float32Array, i32: Int32Array, u8: Uint8Array };

/** @param {string} base64 */
export function bytesOfBase64(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// What the page was given, as text: it stands there in zlib's format, in base64.
/** @param {string} packed */
export async function unpacked(packed) {
  const bytes = new Blob([bytesOfBase64(packed.trim())]);
  return new Response(bytes.stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

// {"f64": "<base64>"}, or another of the types, to a Float64Array.
/** @param {PackedNumbers} numbers */
export function decodeNumbers(numbers) {
  const [type] = Object.keys(numbers);
  return Float64Array.from(new arrayTypes[type](bytesOfBase64(numbers[type]).buffer));
}

// Numbers in attributes: JSON has no infinity, so that it comes as a text.
/** @param {any} x */
export function numberOfJson(x) {
  if (typeof x !== "string") return x;
  if (x === "-inf" || x === "-Infinity") return -Infinity;
  if (x === "inf" || x === "Infinity") return Infinity;
  return Number(x);
}

// Without its sign.
/** @param {Numbers} numbers */
export const largestNumber = (numbers) => numbers.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

/** @param {string} text */
const withMinusSign = (text) => text.replace("-", "−");

/** @param {number} x */
function specialNumber(x) {
  if (Number.isNaN(x)) return "NaN";
  if (x === Infinity) return "∞";
  return x === -Infinity ? "−∞" : null;
}

// Three significant digits: 0.0213, 12.3, 4.56e−7.
/** @param {number} x */
export function shortNumber(x) {
  const special = specialNumber(x);
  if (special) return special;
  if (x === 0) return "0";
  const magnitude = Math.abs(Number(x.toPrecision(3)));
  if (magnitude >= 1e5 || magnitude < 1e-3) {
    const [digits, exponent] = x.toExponential(2).split("e");
    return `${withMinusSign(digits)}e${withMinusSign(exponent.replace("+", ""))}`;
  }
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(magnitude)));
  return withMinusSign(x.toFixed(decimals));
}

// As many digits as tell the double from all others: −1.44, 0.1.
/** @param {number} x */
export function fullNumber(x) {
  return specialNumber(x) ?? String(x === 0 ? 0 : x);
}
