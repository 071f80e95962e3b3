// What sliders are made of.
import { element, svgElement } from "./dom.js";
import { bothOf } from "../texts/texts.js";

// Both languages are there, one is seen.
export function inBoth(key) {
  const [english, chinese] = bothOf(key);
  return [
    element("span", { class: "in-en", lang: "en", text: english }),
    element("span", { class: "in-zh", lang: "zh-CN", text: chinese }),
  ];
}

export const withName = (key, chart) => element("div", {}, element("p", { class: "soft" }, inBoth(key)), chart);

// Four digits, as in the tables.
export function shown(x) {
  if (!Number.isFinite(x)) return String(x);
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return x.toExponential(1);
  return String(Number(x.toPrecision(4)));
}

// A row of bars from zero, up and down, each with its name below: {name, number}.
export function barChart(bars, { title, largest, height = 110 }) {
  const width = 34;
  const below = bars.some(({ number }) => number < 0);
  const zero = below ? height / 2 + 18 : height + 18;
  const reach = below ? height / 2 : height;
  const parts = bars.flatMap(({ name, number }, i) => {
    const size = largest > 0 ? (Math.min(Math.abs(number), largest) / largest) * reach : 0;
    const middle = i * width + width / 2;
    return [
      svgElement("path", {
        class: number < 0 ? "negative" : "positive",
        style: "--share: 60%",
        d: `M${i * width + 3} ${zero}h${width - 6}v${number < 0 ? size : -size}h${6 - width}z`,
      }),
      svgElement("text", {
        x: middle,
        y: number < 0 ? zero + size + 12 : zero - size - 4,
        "text-anchor": "middle",
        text: Math.abs(number) < 5e-3 ? "0" : number.toFixed(2).replace(/^(-?)0\./, "$1."),
      }),
      svgElement("text", { x: middle, y: height + 46, "text-anchor": "middle", class: "name", text: name }),
    ];
  });
  const whole = bars.length * width;
  const base = svgElement("path", { class: "axis", d: `M0 ${zero}H${whole}` });
  return svgElement(
    "svg",
    { viewBox: `0 0 ${whole} ${height + 52}`, style: `width: ${whole}px`, role: "img", "aria-label": title },
    ...parts,
    base,
  );
}

// Cells in the colours of their numbers.
export function cellMap(rows, { title, largest, cell = 16 }) {
  const cells = rows.flatMap((row, i) =>
    row.map((number, j) =>
      svgElement("path", {
        class: number < 0 ? "negative" : "positive",
        style: `--share: ${((60 * Math.abs(number)) / largest).toFixed(1)}%`,
        d: `M${j * cell} ${i * cell}h${cell - 1}v${cell - 1}h${1 - cell}z`,
      }),
    ),
  );
  const width = (rows[0]?.length ?? 0) * cell;
  const height = rows.length * cell;
  return svgElement(
    "svg",
    { class: "map", viewBox: `0 0 ${width} ${height}`, style: `width: ${width}px`, role: "img", "aria-label": title },
    ...cells,
  );
}

// A line through numbers, with a mark at one of them.
export function lineChart(numbers, { title, marked, width = 560, height = 120 }) {
  const low = Math.min(0, ...numbers);
  const high = Math.max(...numbers);
  const left = (i) => 4 + (i * (width - 8)) / (numbers.length - 1);
  const top = (y) => 8 + ((high - y) * (height - 24)) / (high - low || 1);
  return svgElement(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, style: `width: ${width}px`, role: "img", "aria-label": title },
    svgElement("path", { class: "axis", d: `M4 ${top(0)}H${width - 4}` }),
    svgElement(
      "g",
      { class: "series", style: "--colour: var(--series-0)" },
      svgElement("polyline", { points: numbers.map((y, i) => `${left(i)},${top(y)}`).join(" ") }),
      svgElement("circle", { cx: left(marked), cy: top(numbers[marked]), r: 4 }),
    ),
    svgElement("text", { x: left(marked), y: height - 2, "text-anchor": "middle", text: String(marked) }),
  );
}
