// The middle of the page: a step's matrices forward, and beside them, in the same places, those of
// their gradients.
import { fitBoard, leastWidth } from "./board.js";
import { colourScale, isDeep } from "./colours.js";
import { csvButton } from "./csv.js";
import { element, svgElement } from "../../../report/page/dom.js";
import { formula } from "../../../report/page/formula.js";
import { beforeNextFrame } from "../frame/next_frame.js";
import { explained, meaningOf } from "../frame/terms.js";
import { symbolText } from "../lesson/symbols.js";
import { HeatMap, powerOf } from "./heat_map.js";
import { isWrongGradient } from "../frame/mistake_note.js";
import { shortNumber } from "../ops/numbers.js";
import { languageNow, say } from "../texts/say.js";

// The colour of its frame.
const familyStyle = ({ family }) => `--family: var(--family-${family})`;


// What is wider than its place is written smaller; what still is, is scrolled, and so can be reached by keys.
let widths = null;

function markWide(entries) {
  for (const { target } of entries) {
    const isWide = () => target.scrollWidth > target.clientWidth;
    target.classList.remove("wide");
    target.classList.toggle("wide", isWide());
    if (isWide()) target.setAttribute("tabindex", "0");
    else target.removeAttribute("tabindex");
  }
}

function scrollable(node) {
  widths ??= new ResizeObserver(markWide);
  widths.observe(node);
  return node;
}

const paperCell = { width: 56, height: 24 };

// What a canvas shows is not on paper: it is drawn too late.
function onPaper(matrix, { colours }) {
  const { rows, columns } = matrix.grid;
  const { width, height } = paperCell;
  const colourOf = colourScale(colours, matrix.hue, matrix.size);
  const text = (x, y, anchor, fill, content) => svgElement("text", { x, y, "text-anchor": anchor, fill, text: content });
  const cell = (row, column) => {
    const number = matrix.numberShown(row, column);
    const [x, y] = [(column + 1) * width, (row + 1) * height];
    const ink = isDeep(number, matrix.size, matrix.hue) ? colours.inverse : colours.ink;
    return [
      svgElement("rect", { x, y, width: width - 1, height: height - 1, fill: colourOf(number) }),
      text(x + width / 2, y + 16, "middle", ink, matrix.text(row, column)),
    ];
  };
  const each = (count, f) => Array.from({ length: count }, (_, at) => f(at)).flat();
  return svgElement(
    "svg",
    { class: "on-paper", viewBox: `0 0 ${(columns + 1) * width} ${(rows + 1) * height}`, width: (columns + 1) * width },
    each(rows, (row) => text(width - 6, (row + 1) * height + 16, "end", colours.ink, matrix.rowLabel(row))),
    each(columns, (column) => text((column + 1.5) * width, height - 8, "middle", colours.ink, matrix.columnLabel(column))),
    each(rows, (row) => each(columns, (column) => cell(row, column))),
  );
}

// Says which matrices of the step have the same scale.
function scaledWith({ scaledWith: others }) {
  if (others.length === 0) return null;
  const names = others.map(({ symbol }) => symbolText(symbol)).join(", ");
  const title = say("matrix.same_scale_title", { names });
  return element("span", { class: "scaled-with", title, text: say("matrix.same_scale", { names }) });
}

export class StepView {
  constructor(app) {
    this.app = app;
    this.maps = [];
    this.root = element("div", { class: "boards" });
    this.fit = this.fit.bind(this);
    this.observer = new ResizeObserver(this.fit);
    this.observer.observe(this.root);
  }

  show() {
    const { lesson } = this.app;
    const { step } = lesson;
    const matrices = lesson.matrices();
    const outline = this.outlineOf(step, matrices);
    if (outline === this.outline && this.root.childElementCount > 0) {
      this.renumber(matrices);
      this.maps = this.mapsOfSides();
      return;
    }
    this.outline = outline;
    this.layout = step.layout;
    this.sides = [this.side("forward", step, matrices), this.side("backward", step, matrices)];
    this.maps = this.mapsOfSides();
    this.root.replaceChildren(...this.sides.map(({ root }) => root));
    this.size = null;
    beforeNextFrame(this.root, this.fit);
  }

  mapsOfSides() {
    return this.sides.flatMap(({ maps }) => maps.filter(Boolean));
  }

  // All that is shown but the numbers.
  outlineOf(step, matrices) {
    const { app } = this;
    const { state, chapters } = app.lesson;
    const sizes = matrices.map(({ forward, backward }) => [
      forward && [forward.key, forward.grid.rows, forward.grid.columns],
      backward && [backward.key, backward.value],
    ]);
    const names = [chapters.queries, chapters.keys, step.forward, step.backward];
    const looks = [languageNow(), app.isDark, app.isOnPaper, state.layer, state.head, state.zoom];
    return JSON.stringify([step.id, sizes, names, looks, state.form, state.route]);
  }

  // The same matrices with other numbers: an edit is drawn without laying out the step again.
  renumber(matrices) {
    this.sides.forEach((side, i) => {
      side.matrices = matrices.map((each) => each[i === 0 ? "forward" : "backward"]);
      side.maps.forEach((map, at) => {
        const matrix = side.matrices[at];
        if (!map) return;
        const figure = side.figures[at];
        map.renumber(matrix);
        const looks = this.classesOf(matrix);
        if (figure.className !== looks) figure.className = looks;
        for (const part of [this.power(map), this.legend(map)]) {
          if (!part.isConnected) figure.querySelector(`.${part.className}`).replaceWith(part);
        }
      });
    });
    if (this.size === null) beforeNextFrame(this.root, this.fit);
  }

  side(direction, step, matrices) {
    const maps = [];
    const figures = matrices.map((each) => {
      const matrix = each[direction];
      const map = matrix && this.map(matrix);
      maps.push(map);
      return map ? this.figure(matrix, map) : this.missing(each.part, each.forward);
    });
    const board = element("div", { class: "board" }, figures);
    const formulas = step[direction].map(formula);
    const root = element(
      "section",
      { class: `side ${direction}`, "aria-label": say(`matrix.${direction}`) },
      element(
        "h3",
        {},
        element("span", { class: "direction", text: say(`matrix.${direction}`) }),
        scrollable(element("span", { class: "formulas" }, formulas)),
      ),
      board,
    );
    return { root, board, figures, maps, matrices: matrices.map((each) => each[direction]) };
  }

  map(matrix) {
    const { app } = this;
    const map = new HeatMap(matrix, {
      colours: app.colours,
      chosen: ({ row, column }) => app.choose({ key: matrix.key, row, column }),
      pointed: (at, event) => app.tooltip(at && map.matrix.describe(at.row, at.column), event),
    });
    return map;
  }

  figure(matrix, map) {
    const { rows, columns } = matrix.grid;
    const caption = element(
      "figcaption",
      {},
      this.symbol(matrix),
      this.power(map),
      element("span", { class: "shape", text: `${rows} × ${columns}` }),
      csvButton(map),
    );
    return element(
      "figure",
      { class: this.classesOf(matrix), style: familyStyle(matrix) },
      caption,
      element("div", { class: "frame" }, map.root, this.app.isOnPaper ? onPaper(matrix, this.app) : null),
      this.legend(map),
    );
  }

  power(map) {
    const { matrix } = map;
    return map.kept.get("power", [matrix.exponent], () => powerOf(matrix));
  }

  symbol(matrix) {
    const meaning = meaningOf(matrix.symbol);
    const name = formula(matrix.symbol);
    if (!meaning) return element("span", { class: "symbol" }, name);
    return explained(this.app, element("button", { type: "button", class: "symbol term" }, name), meaning);
  }

  classesOf(matrix) {
    const isWrong = isWrongGradient(this.app.lesson, matrix);
    const names = ["matrix"];
    if (matrix.isGradient) names.push("gradient");
    if (isWrong) names.push("wrong");
    return names.join(" ");
  }

  missing(part, forward) {
    return element(
      "figure",
      { class: "matrix missing", style: familyStyle(part) },
      element("figcaption", {}, element("span", { class: "symbol" }, formula(`d${part.symbol}`))),
      element("p", { class: "empty", text: say(forward?.derived ? "matrix.within" : "matrix.no_gradient") }),
    );
  }

  // The scale, with its ends.
  legend(map) {
    const { matrix } = map;
    const { size, scaledWith: others } = matrix;
    return map.kept.get("legend", [size, ...others.map(({ symbol }) => symbol)], () => this.legendNow(matrix));
  }

  legendNow(matrix) {
    const colour = colourScale(this.app.colours, matrix.hue, 1);
    const isShare = matrix.hue === "share";
    const from = isShare ? colour(0) : colour(-1);
    const size = matrix.isAllRounding() && matrix.scaledWith.length === 0 ? 0 : matrix.size;
    return element(
      "div",
      { class: "legend", "aria-hidden": "true" },
      element("span", { text: isShare || size === 0 ? "0" : shortNumber(-size) }),
      element("i", {
        style: `background: linear-gradient(to right, ${from}, ${colour(0)}, ${colour(1)})`,
      }),
      element("span", { text: shortNumber(size) }),
      scaledWith(matrix),
    );
  }

  fit() {
    if (!this.sides || !this.root.clientWidth || !this.layout) return;
    const width = this.sides[0].board.clientWidth;
    const height = this.app.boardHeight(this.root);
    const size = `${width}:${height}:${this.app.lesson.state.zoom}`;
    if (size === this.size) return;
    this.size = size;
    const { zoom } = this.app.lesson.state;
    const largest = this.app.isPresenting ? 160 : 110;
    const shapes = this.sides[0].matrices;
    const fitted = fitBoard(this.layout, shapes, { width, height, zoom, largest });
    this.sides.forEach((side) => this.place(side, fitted));
  }

  place({ board, figures, maps }, { cells, isStacked, inTwo }) {
    const isProduct = !isStacked;
    board.classList.toggle("two", Boolean(inTwo));
    board.classList.toggle("product", isProduct);
    figures.forEach((figure, i) => {
      const isLeft = isProduct && i === 0;
      const isLower = isLeft || (isProduct && i === figures.length - 1);
      figure.style.gridColumn = isProduct ? (isLeft ? 1 : 2) : "";
      figure.style.gridRow = isProduct ? (isLower ? figures.length - 1 : i) : "";
      maps[i]?.fit(cells[i]);
      const { width } = maps[i] ?? {};
      figure.style.maxWidth = isProduct && width ? `${Math.max(width + 8, leastWidth)}px` : "";
      if (!maps[i]) figure.style.minHeight = `${cells[i].cellHeight}px`;
    });
  }

  mark(marks) {
    for (const map of this.maps) {
      const { chosen } = marks;
      const isOwn = chosen && map.matrix.key === chosen.key;
      map.mark({ ...marks, chosen: isOwn ? chosen : null });
    }
  }

  mapOf(key) {
    return this.maps.find((map) => map.matrix.key === key);
  }
}
