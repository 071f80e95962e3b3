// The right of the page: one cell, the arithmetic that made it, what checks it, what it feeds.
import { arithmeticLine, arithmeticText } from "./arithmetic.js";
import { differenceCheck } from "./difference_check.js";
import { element } from "../../../report/page/dom.js";
import { sectionElement } from "../frame/elements.js";
import { editorOf } from "./editor.js";
import { exercisePanel, headingOf } from "./exercise.js";
import { Expression } from "../ops/expression.js";
import { feedsOf } from "./feeds.js";
import { symbolText } from "../lesson/symbols.js";
import { fullNumber, shortNumber } from "../ops/numbers.js";
import { IdleWork } from "./idle.js";
import { suggestions } from "./suggestions.js";
import { picturedShares } from "../chapters/picture.js";
import { reasonForZero } from "../lesson/reasons.js";
import { say } from "../texts/say.js";

export class CellPanel {
  constructor(app) {
    this.app = app;
    this.root = element("div", { class: "cell-panel" });
    this.idle = new IdleWork();
  }

  show() {
    this.idle.cancel();
    const { lesson } = this.app;
    const { cell } = lesson.state;
    const matrix = cell && lesson.matrix(cell.key);
    const isThere = matrix && cell.row < matrix.grid.rows && cell.column < matrix.grid.columns;
    if (!isThere) {
      const hint = element("p", { class: "hint", text: say("cell.choose") });
      this.root.replaceChildren(...[hint, suggestions(this.app)].filter(Boolean));
      return { chosen: null, lit: [], fed: [] };
    }
    const { row, column } = cell;
    const index = matrix.index(row, column);
    const expression = lesson.expression(matrix, row, column);
    if (matrix.isHiddenCell(row, column)) {
      this.root.replaceChildren(...exercisePanel(this.app, matrix, row, column, expression));
      return { chosen: cell, lit: [], fed: [] };
    }
    if (matrix.part.ofTargets && lesson.isIgnored(row)) {
      const why = element("p", { class: "hint", text: say("reason.not_counted") });
      this.root.replaceChildren(element("header", {}, headingOf(matrix, row, column)), why);
      return { chosen: cell, lit: [], fed: [] };
    }
    const fed = matrix.derived ? [] : lesson.uses(matrix.value, index);
    const way = wayBack(lesson, matrix);
    const derivative = matrix.number(row, column);
    const number = element("output", { class: "number", text: matrix.text(row, column) });
    const check = way && differenceCheck(this.app, this.idle, { ...way, index, derivative });
    this.root.replaceChildren(
      ...[
        element("header", {}, headingOf(matrix, row, column), number),
        this.arithmetic(matrix, expression, row, column),
        reasonSection(lesson, matrix, row, column),
        pictureSection(this.app, matrix, row),
        check ?? headShareNote(matrix),
        feedsOf(this.app, fed),
        editorOf(this.app, matrix, row, column),
      ].filter(Boolean),
    );
    return { chosen: cell, lit: Expression.cellsOf(expression), fed };
  }

  // What is for who asks: the number as a double, the arithmetic of doubles, and the name on the tape.
  digits(matrix, row, column, code) {
    const number = fullNumber(matrix.number(row, column));
    const parts = code ? [code, this.app.copyButton(() => code.textContent)] : [];
    return element(
      "details",
      { class: "digits" },
      element("summary", { text: say("cell.all_digits") }),
      element("p", {}, element("output", { class: "number", id: "cell-value", text: number }), this.app.copyButton(() => number)),
      ...parts,
      matrix.derived ? null : element("p", { class: "path", text: this.app.lesson.tape.name(matrix.value) }),
    );
  }

  arithmetic(matrix, expression, row, column) {
    const { lesson } = this.app;
    const isCopy = expression.kind === "cell" || expression.kind === "number";
    const isLeaf = expression.kind === "cell" && expression.value === matrix.value;
    const isEdited = lesson.state.edits.some(
      ({ value, index }) => value === matrix.value && index === matrix.index(row, column),
    );
    const leaf = isEdited ? "cell.is_edited" : isLeaf ? leafText(lesson, matrix) : null;
    if (leaf) return section("arithmetic", element("p", { text: say(leaf) }), this.digits(matrix, row, column, null));
    const computed = lesson.evaluate(expression);
    const shown = matrix.number(row, column);
    const agrees = isSame(computed, shown);
    const code = element("code", { id: "cell-arithmetic" });
    const numberAt = (value, index) =>
      lesson.isHidden(value, index) ? null : lesson.tape.number(value, index);
    this.idle.add(() => {
      code.textContent = arithmeticText(expression, numberAt);
    });
    return section(
      "arithmetic",
      element("p", { class: "what-it-is", text: say(isCopy ? "cell.copied_from" : "cell.made_of") }),
      arithmeticLine(this.app, expression, "names"),
      arithmeticLine(this.app, expression, "numbers"),
      element(
        "p",
        { class: `result ${agrees ? "good" : "bad"}` },
        `= ${matrix.isRounding(row, column) ? "0" : shortNumber(computed)} ${agrees ? "✓" : "✗"}`,
      ),
      this.digits(matrix, row, column, code),
    );
  }
}

// Whose derivative a matrix is; of a share of a gradient, with the op through which it came.
function wayBack({ anatomy, tape }, { isGradient, of, value, part }) {
  if (!isGradient) return null;
  if (of !== undefined) return { value: of, through: null };
  const reader = part.isShare && tape.program.ops[anatomy.maker(value)?.backward_of];
  return reader?.reads.includes(part.shareOf) ? { value: part.shareOf, through: reader } : null;
}

const section = (name, ...children) => sectionElement(name, say(`cell.${name}`), ...children);

function headShareNote({ part }) {
  if (part.derived !== "headShare") return null;
  return section("check", element("p", { text: say("difference.one_of_heads") }));
}

// Of a picture, what this query attends to.
function pictureSection(app, matrix, row) {
  const isMap = matrix.part.look === "map" && matrix.part.columnNames?.length > 0;
  if (!isMap) return null;
  const { lesson } = app;
  const shares = lesson.rowOfHead(lesson.layer.weights, row);
  const picture = picturedShares(app, { shares, query: row });
  return picture && section("looks_at", picture);
}

const isSame = (a, b) =>
  Object.is(a, b) || a === b || Math.abs(a - b) <= 1e-12 * Math.max(1, Math.abs(b));

function leafText(lesson, matrix) {
  const { kind } = lesson.anatomy.facts[matrix.value];
  return kind === "parameter" ? "cell.is_parameter" : kind === "constant" ? "cell.is_constant" : "cell.is_edited";
}

function reasonSection(lesson, matrix, row, column) {
  const reason = reasonForZero(lesson, matrix, row, column);
  if (!reason) return null;
  const text = say(`reason.${reason.id}`, { ...reason, name: symbolText(matrix.symbol) });
  return section(
    "why_zero",
    element("p", { class: `reason ${reason.id}`, "data-reason": reason.id, text }),
  );
}
