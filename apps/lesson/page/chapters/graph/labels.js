// What ops and values are called in the graph, and the address of the step that shows a value.
import { tellingOps } from "./drawn_graph.js";
import { shortNumber } from "../../ops/numbers.js";
import { say } from "../../texts/say.js";

const mostNamed = 5;

// {symbol, family, href}; of what no step shows, a name without an address.
export function valueLabel(app, value, symbol = null) {
  const { lesson } = app;
  const place = lesson.locate(value, 0, symbol);
  if (!place) return { symbol: symbol ?? plainName(lesson, value), href: null };
  return {
    symbol: symbol ?? place.symbol,
    family: place.part.family,
    href: app.addressOf(lesson.stateOf(value, 0, symbol)),
  };
}

// Without a subscript.
function plainName({ tape }, value) {
  const pieces = tape.facts[value].kind === "parameter" ? 1 : 2;
  return tape.name(value).split(".").slice(-pieces).join(".").replaceAll("_", " ");
}

// "scale 0.5"
export function opTitle({ op, attributes }) {
  const number = attributes.factor ?? attributes.value;
  return typeof number === "number" ? `${op} ${shortNumber(number)}` : op;
}

// The ops of a derivative, neighbours of one name together; of many only how many they are.
export function backwardNames(ops) {
  const telling = tellingOps(ops);
  if (telling.length > mostNamed) return [say("graph.ops_count", { count: telling.length })];
  const names = [];
  for (const { op } of telling) {
    const last = names.at(-1);
    if (last?.op === op) last.times++;
    else names.push({ op, times: 1 });
  }
  return names.map(({ op, times }) => (times > 1 ? `${op} ×${times}` : op));
}
