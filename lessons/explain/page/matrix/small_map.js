// A matrix as a picture of itself, a pixel a cell.
import { colourBytes } from "./colours.js";
import { element } from "../frame/dom.js";

const mapSize = 92;

// largest: the number that gets the full colour
export function smallMap(data, rows, columns, { colours, hue, largest = largestOf(data) }) {
  const canvas = element("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const longest = Math.max(rows, columns);
  canvas.style.width = `${(mapSize * columns) / longest}px`;
  canvas.style.height = `${(mapSize * rows) / longest}px`;
  paintSmallMap(canvas, data, { colours, hue, largest });
  return canvas;
}

export function paintSmallMap(canvas, data, { colours, hue, largest }) {
  const write = colourBytes(colours, hue, largest);
  const image = new ImageData(canvas.width, canvas.height);
  data.forEach((x, i) => write(x, image.data, 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

const largestOf = (data) => data.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
