// What a reader calls an attention layer: "layer 0", "decoder layer 1, cross-attention".
import { say } from "../texts/say.js";

const pathPattern = /^(encoder\.|decoder\.)?blocks\.(\d+)(?:\.(\w+))?$/;

export function layerName(path) {
  const [, stack = "", number, part] = pathPattern.exec(path) ?? [];
  if (number === undefined) return path;
  const inStack = say(stack ? `layer.of_${stack.slice(0, -1)}` : "layer.number", { number });
  return part === "cross_attention" ? `${inStack}${say("layer.cross")}` : inStack;
}
