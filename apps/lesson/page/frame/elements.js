// Elements that many parts of the page have: buttons, lists to choose from, tables.
import { element } from "../../../report/page/dom.js";

export const buttonElement = (text, click, attributes = {}) =>
  element("button", { type: "button", text, ...attributes, on: { click, ...attributes.on } });

// options: [[value, text]]; change(value)
export const selectElement = (options, now, change, attributes = {}) =>
  element(
    "select",
    { ...attributes, on: { change: (event) => change(event.target.value) } },
    options.map(([value, text]) => element("option", { value, selected: value === now, text })),
  );

// A part of the page with its heading.
export const sectionElement = (name, title, ...children) =>
  element("section", { class: name, "aria-label": title }, element("h3", { text: title }), ...children);

// As long as the pointer is down, moved(event) is called.
export function followPointer(moved) {
  const stop = () => document.removeEventListener("pointermove", moved);
  document.addEventListener("pointermove", moved);
  document.addEventListener("pointerup", stop, { once: true });
}

const leastHeight = 850; // of a window in which the matrices below have room, too

// A drawing above the matrices, {root, show()}: contents() is drawn anew for every cell that is chosen.
export function foldedDrawing(name, title, contents) {
  const body = element("div");
  const root = element("details", { class: `folded ${name}`, open: innerHeight >= leastHeight }, element("summary", { text: title }), body);
  const show = () => body.replaceChildren(...contents());
  show();
  return { root, show };
}

// rows: elements, or [heading of the row, cell, …]
export const tableElement = (name, heads, rows) =>
  element(
    "table",
    { class: name },
    element("thead", {}, element("tr", {}, heads.map((text) => element("th", { scope: "col", text })))),
    element("tbody", {}, rows),
  );
