// Out: a matrix as CSV, SVG or LaTeX.
import { colourScale, isDeep } from "./colours.js";
import { element, saveText } from "../../../report/page/dom.js";
import { fullNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

export function exportMenuOf(app, matrix) {
  const item = (kind, type, write) =>
    element("button", {
      type: "button",
      text: kind,
      on: { click: () => saveText(`${fileName(matrix)}.${kind.toLowerCase()}`, write(), type) },
    });
  return element(
    "details",
    { class: "export" },
    element("summary", { "aria-label": say("matrix.save", { name: matrix.key }), text: "⤓" }),
    element(
      "span",
      { class: "menu" },
      item("CSV", "text/csv", () => csvOf(matrix)),
      item("SVG", "image/svg+xml", () => svgOf(matrix, app.colours)),
      item("TeX", "text/x-tex", () => latexOf(matrix)),
    ),
  );
}

const fileName = ({ key }) => key.replace(/[^A-Za-z0-9_]/g, "-");

const indicesTo = (count) => Array.from({ length: count }, (_, i) => i);

// All digits, as other programs read them.
const plainNumber = (x) => fullNumber(x).replace("−", "-").replace("∞", "inf");

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// Spreadsheets compute what begins so, unless there is an apostrophe before it.
const asText = (name) => (/^[=+\-@\t\r]/.test(name) ? `'${name}` : name);

export function csvOf(matrix) {
  const { rows, columns } = matrix.grid;
  const heads = indicesTo(columns).map((column) => asText(matrix.columnName(column)) || column);
  const lines = indicesTo(rows).map((row) => [
    asText(matrix.rowName(row)) || row,
    ...indicesTo(columns).map((column) => plainNumber(matrix.numberShown(row, column))),
  ]);
  return [["", ...heads], ...lines].map((line) => line.map((x) => quoted(String(x))).join(",")).join("\n");
}

const latexNumber = (text) =>
  text
    .replaceAll("−", "-")
    .replace("∞", "\\infty")
    .replace(/e(-?\d+)/, " \\cdot 10^{$1}");

export function latexOf(matrix) {
  const { rows, columns } = matrix.grid;
  const line = (row) =>
    indicesTo(columns)
      .map((column) => latexNumber(matrix.text(row, column)))
      .join(" & ");
  const body = indicesTo(rows).map(line).join(" \\\\\n");
  const name = matrix.symbol.replaceAll("∘", "\\circ ").replaceAll("ℓ", "\\ell ");
  return `${name} = \\begin{bmatrix}\n${body}\n\\end{bmatrix}\n`;
}

// eslint-disable-next-line no-control-regex -- that is what it is about
const unwritable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

// XML has no way to write most control characters.
const escaped = (text) =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(unwritable, "\ufffd");

export function svgOf(matrix, colours) {
  const { rows, columns } = matrix.grid;
  const [width, height, left, top] = [56, 24, 64, 24];
  const colourOf = colourScale(colours, matrix.hue, matrix.size);
  const text = (x, y, anchor, fill, content) =>
    `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${fill}">${escaped(content)}</text>`;
  const cells = indicesTo(rows).flatMap((row) =>
    indicesTo(columns).flatMap((column) => {
      const number = matrix.numberShown(row, column);
      const [x, y] = [left + column * width, top + row * height];
      const ink = isDeep(number, matrix.size, matrix.hue) ? colours.onDeep : colours.ink;
      const box = `width="${width - 1}" height="${height - 1}"`;
      return [
        `<rect x="${x}" y="${y}" ${box} fill="${colourOf(number)}"/>`,
        text(x + width / 2, y + 16, "middle", ink, matrix.text(row, column)),
      ];
    }),
  );
  const { ink } = colours;
  const rowNames = indicesTo(rows).map((row) =>
    text(left - 6, top + row * height + 16, "end", ink, matrix.rowLabel(row)),
  );
  const columnNames = indicesTo(columns).map((column) =>
    text(left + (column + 0.5) * width, top - 8, "middle", ink, matrix.columnLabel(column)),
  );
  const size = `width="${left + columns * width}" height="${top + rows * height}"`;
  const style = 'font-family="sans-serif" font-size="12"';
  const lines = [...cells, ...rowNames, ...columnNames].join("\n");
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${style}>\n${lines}\n</svg>\n`;
}
