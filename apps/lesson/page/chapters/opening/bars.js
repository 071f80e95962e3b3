// The guess as bars, and the error as what pulls them: each bar from p to y.
import { shortNumber } from "../../ops/numbers.js";
import { say } from "../../texts/say.js";
import { element } from "../../../../report/page/dom.js";

const mostBars = 4;

export const percent = (share) => `${share > 0 && share < 0.01 ? "< 1" : Math.round(100 * share)} %`;

export const signed = (x) => (x > 0 ? `+${shortNumber(x)}` : shortNumber(x));

// {root, show(numbers)}: the classes with the largest shares, and the right one.
export function barsOf(app, { path, names, target, rowOfGuess }, { p }) {
  const byShare = [...p.keys()].sort((a, b) => p[b] - p[a]);
  const shown = byShare.filter((each, place) => place < mostBars || each === target);
  const bars = shown.map((column) => barOf(app, { path, name: names[column], row: rowOfGuess, column, isRight: column === target }));
  const root = element(
    "section",
    { class: "guess", "aria-label": say("opening.bars") },
    element("h3", { text: say("opening.bars") }),
    bars.map(({ root: each }) => each),
  );
  return { root, show: (numbers) => bars.forEach((bar, i) => bar.show(numbers.p[shown[i]], numbers.missing[shown[i]])) };
}

function barOf(app, { path, name, row, column, isRight }) {
  const to = (key, route) => app.addressOf({ step: "loss", layer: path, route, cell: { key, row, column }, scene: null });
  const fill = element("i", { class: "fill" });
  const pull = element("i", { class: "pull" });
  const share = element("output");
  const missing = element("a", { class: "missing from-error", href: to("dlogits", "back") });
  const root = element(
    "div",
    { class: `bar${isRight ? " right" : ""}` },
    element("a", { class: "share-of", href: to("p", null) }, element("span", { text: name }), element("span", { class: "track" }, fill, pull), share),
    missing,
  );
  const show = (p, error) => {
    fill.style.width = `${100 * p}%`;
    pull.className = `pull from-error ${error > 0 ? "more" : "less"}`;
    pull.style.left = `${100 * Math.min(p, p + error)}%`;
    pull.style.width = `${100 * Math.abs(error)}%`;
    share.textContent = percent(p);
    missing.textContent = signed(error);
    missing.classList.toggle("more", error > 0);
    missing.classList.toggle("less", error <= 0);
  };
  return { root, show };
}
