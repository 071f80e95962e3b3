// The picture that a Vision Transformer reads, cut into patches; shares of attention over them.
import { element, svgElement } from "../../../report/page/dom.js";
import { fullNumber, shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";
import { patchGrid } from "../lesson/sequences.js";

const largestSide = 176;
const darkest = 0.8; // of the colour, over the patch with the largest share

// The picture with the lines between its patches.
export function pictureOf(app) {
  const found = paintedPicture(app);
  return found && element("div", { class: "picture sheet" }, found.canvas, overlay(app, found, []));
}

// The same with shares over it: one number for each row of the sequence; query: a row. What is no
// patch, the class token, stands beside the picture.
export function picturedShares(app, { shares, query }) {
  const found = paintedPicture(app);
  if (!found) return null;
  const { grid } = found;
  const largest = shares.reduce((a, b) => Math.max(a, b), 0);
  const names = app.lesson.chapters.keys;
  const squares = Array.from(shares, (share, row) => ({
    row,
    share,
    depth: largest > 0 ? (darkest * share) / largest : 0,
    isQuery: row === query,
    title: `${names[row]}: ${fullNumber(share)}`,
  }));
  const best = squares.reduce((a, b) => (b.share > a.share ? b : a));
  const most = say("picture.most", { name: names[best.row], share: shortNumber(best.share) });
  return element(
    "div",
    { class: "picture" },
    element("div", { class: "sheet" }, found.canvas, overlay(app, found, squares)),
    squares.slice(0, grid.classTokens).map((square) => classSquare(square, names[square.row])),
    element("p", { class: "most", text: most }),
  );
}

// {canvas, grid, side of a patch in pixels}, or null where there is no picture.
function paintedPicture({ lesson }) {
  const grid = patchGrid(lesson.anatomy);
  if (!grid) return null;
  const { shape, data } = lesson.tape.values[grid.pixels];
  const [height, width] = shape.slice(-2);
  const channels = shape[shape.length - 3];
  const scale = Math.max(1, Math.floor(largestSide / Math.max(height, width)));
  const canvas = element("canvas", {
    width: width * scale,
    height: height * scale,
    role: "img",
    "aria-label": say("picture.title"),
  });
  const context = canvas.getContext("2d");
  const range = levelsOf(data);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const levels = Array.from({ length: 3 }, (_, i) => {
        const channel = Math.min(i, channels - 1);
        const value = data[(channel * height + y) * width + x];
        return Math.round((255 * (value - range.low)) / range.size);
      });
      context.fillStyle = `rgb(${levels})`;
      context.fillRect(x * scale, y * scale, scale, scale);
    }
  }
  return { canvas, grid, side: (width * scale) / grid.side };
}

function levelsOf(data) {
  const low = data.reduce((a, b) => Math.min(a, b), Infinity);
  const high = data.reduce((a, b) => Math.max(a, b), -Infinity);
  return { low, size: high - low || 1 };
}

// squares: of all rows of the sequence, or none
function overlay(app, { canvas, grid, side }, squares) {
  const { width, height } = canvas;
  const patches = Array.from({ length: grid.side * grid.side }, (_, patch) => {
    const at = { x: (patch % grid.side) * side, y: Math.floor(patch / grid.side) * side };
    return patchSquare({ ...at, side }, squares[patch + grid.classTokens]);
  });
  const queries = patches.filter((patch) => patch.classList.contains("query"));
  const others = patches.filter((patch) => !queries.includes(patch)); // its line lies above theirs
  const label = squares.length > 0 ? say("picture.shares") : null;
  return svgElement(
    "svg",
    {
      class: "patches",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: label ? "img" : null,
      "aria-label": label,
      "aria-hidden": label ? null : "true",
    },
    others,
    queries,
  );
}

function patchSquare({ x, y, side }, square = {}) {
  const { row, share, depth = 0, isQuery, title } = square;
  return svgElement(
    "rect",
    {
      class: isQuery ? "query" : null,
      x: x + 0.5,
      y: y + 0.5,
      width: side - 1,
      height: side - 1,
      "fill-opacity": depth,
      "data-row": row,
      "data-share": share,
    },
    title ? svgElement("title", { text: title }) : null,
  );
}

function classSquare(square, name) {
  const side = 26;
  const { share, isQuery } = square;
  return element(
    "p",
    { class: "class-token" },
    svgElement(
      "svg",
      { class: "patches", width: side, height: side, "aria-hidden": "true" },
      patchSquare({ x: 0, y: 0, side }, square),
    ),
    ` ${name}: ${shortNumber(share)}${isQuery ? ` (${say("picture.this_query")})` : ""}`,
  );
}
