// What the page was given, as text: it stands there in zlib's format, in base64.
import { bytesOfBase64 } from "../ops/numbers.js";

/** @param {string} packed */
export async function unpacked(packed) {
  const bytes = new Blob([bytesOfBase64(packed.trim())]);
  return new Response(bytes.stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
