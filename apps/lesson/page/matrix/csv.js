// Out: a matrix as CSV.
import { buttonElement } from "../frame/elements.js";
import { saveText } from "../../../report/page/dom.js";
import { fullNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

export function csvButton(map) {
  const { key } = map.matrix;
  const name = say("matrix.save", { name: key });
  const save = () => saveText(`${fileName(key)}.csv`, csvOf(map.matrix), "text/csv");
  return buttonElement("CSV", save, { class: "csv", "aria-label": name, title: name });
}

const fileName = (key) => key.replace(/[^A-Za-z0-9_]/g, "-");

const indicesTo = (count) => Array.from({ length: count }, (_, i) => i);

// All digits, as other programs read them.
const plainNumber = (x) => fullNumber(x).replace("−", "-").replace("∞", "inf");

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// Spreadsheets compute what begins so, unless there is an apostrophe before it.
const asText = (name) => (/^[=+\-@\t\r]/.test(name) ? `'${name}` : name);

function csvOf(matrix) {
  const { rows, columns } = matrix.grid;
  const heads = indicesTo(columns).map((column) => asText(matrix.columnName(column)) || column);
  const lines = indicesTo(rows).map((row) => [
    asText(matrix.rowName(row)) || row,
    ...indicesTo(columns).map((column) => plainNumber(matrix.numberShown(row, column))),
  ]);
  return [["", ...heads], ...lines].map((line) => line.map((x) => quoted(String(x))).join(",")).join("\n");
}
