// A matrix as a picture of itself, a pixel a cell.
import { colourBytes, colourScale } from "./colours.js";
import { element, svgElement } from "../../../report/page/dom.js";

const mapSize = 92;

// largest: the number that gets the full colour; longest: its longer side, in pixels
export function smallMap(data, rows, columns, options) {
  const { colours, hue, largest = largestOf(data), longest: size = mapSize } = options;
  const canvas = element("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const longest = Math.max(rows, columns);
  if (matchMedia("print").matches) {
    return smallPicture(data, rows, columns, { colours, hue, largest, size: size / longest });
  }
  canvas.style.width = `${(size * columns) / longest}px`;
  canvas.style.height = `${(size * rows) / longest}px`;
  paintSmallMap(canvas, data, { colours, hue, largest });
  return canvas;
}

// On paper, where a canvas is drawn too late.
function smallPicture(data, rows, columns, { colours, hue, largest, size }) {
  const colourOf = colourScale(colours, hue, largest);
  const cells = Array.from(data, (x, i) =>
    svgElement("rect", { x: i % columns, y: Math.floor(i / columns), width: 1, height: 1, fill: colourOf(x) }),
  );
  const box = { viewBox: `0 0 ${columns} ${rows}`, width: size * columns, height: size * rows };
  return svgElement("svg", { ...box, "aria-hidden": "true" }, cells);
}

export function paintSmallMap(canvas, data, { colours, hue, largest }) {
  const write = colourBytes(colours, hue, largest);
  const image = new ImageData(canvas.width, canvas.height);
  data.forEach((x, i) => write(x, image.data, 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

const largestOf = (data) => 
  data.reduce((most, x) => (Math.abs(x) < Infinity ? Math.max(most, Math.abs(x)) : most), 0);
