// A line of numbers over the steps of training, with a mark at one of them.
import { svgElement } from "../frame/dom.js";

const size = { width: 300, height: 30, inset: 3 };

// Where numbers[i] at steps[i] stands. Sizes over several powers of ten go by their logarithm.
function placesOf(steps, numbers, isLogarithmic) {
  const level = isLogarithmic ? Math.log : (x) => x;
  const levels = numbers.map((x) => (Number.isFinite(level(x)) ? level(x) : null));
  const known = levels.filter((x) => x !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const span = steps.at(-1) - steps[0] || 1;
  const { width, height, inset } = size;
  return levels.map((x, i) => ({
    x: inset + ((width - 2 * inset) * (steps[i] - steps[0])) / span,
    y: x === null ? null : height - inset - ((height - 2 * inset) * (x - low)) / (high - low || 1),
  }));
}

// {root, markAt(i)}
export function sparkline(steps, numbers, { isLogarithmic }) {
  const places = placesOf(steps, numbers, isLogarithmic);
  const points = places
    .filter(({ y }) => y !== null)
    .map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`);
  const line = svgElement("line", { y1: 0, y2: size.height, class: "at" });
  const dot = svgElement("circle", { r: 3 });
  const root = svgElement(
    "svg",
    { viewBox: `0 0 ${size.width} ${size.height}`, class: "sparkline", "aria-hidden": "true" },
    svgElement("polyline", { points: points.join(" ") }),
    line,
    dot,
  );
  const markAt = (i) => {
    const { x, y } = places[i];
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    dot.setAttribute("visibility", y === null ? "hidden" : "visible");
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", y ?? 0);
  };
  return { root, markAt };
}
