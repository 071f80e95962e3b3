// Out: a matrix as CSV.
import { element, saveText } from "../../../report/page/dom.js";
import { fullNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

export function csvButton(matrix) {
  return element("button", {
    type: "button",
    class: "csv",
    "aria-label": say("matrix.save", { name: matrix.key }),
    title: say("matrix.save", { name: matrix.key }),
    text: "CSV",
    on: { click: () => saveText(`${fileName(matrix)}.csv`, csvOf(matrix), "text/csv") },
  });
}

const fileName = ({ key }) => key.replace(/[^A-Za-z0-9_]/g, "-");

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
