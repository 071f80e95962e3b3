// A row of P as tubes from the keys, as wide as their shares. First apart, each with what the loss wishes for it, −dP;
// then in one pipe of width 1, each with what it gets of the others, −dS.
import { shortNumber } from "../../ops/numbers.js";
import { say } from "../../texts/say.js";
import { element, svgElement } from "../../../../report/page/dom.js";
import { signed } from "./bars.js";

const mostTubes = 6;
const size = { width: 440, pipe: 132, gap: 22, top: 14, left: 110, right: 270, line: 19 };

// {root, show(numbers, scene)}
export function tubesOf(app, guess, first) {
  const { path, head, row, query } = guess;
  const seen = [...first.shares.keys()].filter((j) => first.shares[j] > 0);
  const moving = seen.toSorted((a, b) => Math.abs(first.moves[b]) - Math.abs(first.moves[a]));
  const own = moving.slice(0, seen.length > mostTubes ? mostTubes - 1 : mostTubes).sort((a, b) => a - b);
  const others = seen.filter((j) => !own.includes(j));
  const groups = [...own.map((j) => [j]), ...(others.length > 0 ? [others] : [])];
  const tubes = groups.map((group) => tubeOf(app, guess, group));
  const apart = size.gap * (tubes.length - 1);
  const height = 2 * size.top + size.pipe + apart;
  const pipe = svgElement("rect", { class: "pipe", x: size.left, y: size.top + apart / 2, width: size.right - size.left, height: size.pipe });
  const title = say("opening.tubes_title", { query, head });
  const root = element(
    "section",
    { class: "tubes from-tubes", "aria-label": title },
    element("h3", {}, element("a", { href: app.addressOf({ step: "softmax", layer: path, head, cell: { key: "P", row, column: 0 }, scene: null }), text: title })),
    svgElement("svg", { viewBox: `0 0 ${size.width} ${height}` }, tubes.map(({ root: each }) => each), pipe),
  );
  const show = ({ shares, wishes, moves }, scene) => {
    const isPipe = scene !== "tubes";
    const sumOf = (numbers, group) => group.reduce((sum, j) => sum + numbers[j], 0);
    let y = size.top + (isPipe ? apart / 2 : 0);
    const places = groups.map((group) => {
      const share = sumOf(shares, group);
      const place = { share, y, height: share * size.pipe, move: sumOf(moves, group), wish: group.length === 1 ? wishes[group[0]] : NaN };
      y += place.height + (isPipe ? 0 : size.gap);
      return place;
    });
    const lines = spread(places.map((place) => place.y + place.height / 2), size.line, height - 4);
    tubes.forEach((tube, i) => tube.show(places[i], lines[i], isPipe));
  };
  return { root, show };
}

// Lines of text near these heights, at least so far from each other and from the end.
function spread(heights, least, end) {
  const found = [];
  for (const y of heights) found.push(Math.max(y, (found.at(-1) ?? 0) + least));
  let below = end + least / 2;
  for (let i = found.length - 1; i >= 0; i--) {
    found[i] = Math.min(found[i], below - least);
    below = found[i];
  }
  return found;
}

function tubeOf(app, { path, head, row, keys, isMasked }, group) {
  const [column] = group;
  const isOne = group.length === 1;
  const to = (key, route) =>
    app.addressOf({ step: "softmax", layer: path, head, route, cell: { key, row, column }, scene: null });
  const text = (name, x) => svgElement("text", { class: name, x });
  const tube = svgElement("rect", { class: "tube", x: size.left, width: size.right - size.left });
  const key = text("key", size.left - 10);
  key.textContent = isOne ? keys[column] ?? String(column) : say("opening.others", { count: group.length });
  const share = text("share", size.right + 10);
  const change = text("change", size.right + 62);
  const reason = svgElement("a", {}, change);
  const root = svgElement("g", {}, svgElement("a", { href: to("P", null) }, tube, key, share), reason);
  const show = (place, line, isPipe) => {
    tube.style.y = `${place.y}px`;
    tube.style.height = `${Math.max(0.5, place.height)}px`;
    const told = isPipe ? place.move : place.wish;
    root.setAttribute("class", told > 0 ? "more" : "less");
    for (const each of [key, share, change]) each.style.transform = `translateY(${line}px)`;
    share.textContent = shortNumber(place.share);
    change.textContent = Number.isFinite(told) ? `${told > 0 ? "▲" : "▼"} ${signed(told)}` : "";
    reason.setAttribute("href", isPipe ? to(isMasked ? "dS_m" : "dS", "back") : to("dP", "back"));
  };
  return { root, show };
}
