// Elements that many parts of the page have: buttons, lists to choose from, tables.
import { element } from "../../../report/page/dom.js";

export const buttonElement = (text, click, attributes = {}) =>
  element("button", { type: "button", text, ...attributes, on: { click, ...attributes.on } });

// A button for cells of the tape, [{value, index}], that light up as long as it is pointed at.
export const operandElement = (app, text, cells, click, attributes) => {
  const [point, leave] = [() => app.point(cells), () => app.point(null)];
  return buttonElement(text, click, {
    class: "operand",
    ...attributes,
    on: { pointerenter: point, pointerleave: leave, focus: point, blur: leave },
  });
};

// options: [[value, text]]; change(value)
export const selectElement = (options, now, change, attributes = {}) =>
  element(
    "select",
    { ...attributes, on: { change: (event) => change(event.target.value) } },
    options.map(([value, text]) => element("option", { value, selected: value === now, text })),
  );

// A slider over the places of a list.
export const sliderElement = (label, count, at, attributes = {}) =>
  element("input", { type: "range", min: 0, max: count - 1, step: 1, value: at, "aria-label": label, ...attributes });

// A part of the page with its heading.
export const sectionElement = (name, title, ...children) =>
  element("section", { class: name, "aria-label": title }, element("h3", { text: title }), ...children);

// Puts these into a zone. What is there already stays, and is not laid out anew.
export function putChildren(zone, nodes) {
  for (const old of [...zone.childNodes]) if (!nodes.includes(old)) old.remove();
  nodes.forEach((node, i) => {
    if (zone.childNodes[i] !== node) zone.insertBefore(node, zone.childNodes[i] ?? null);
  });
}

// As long as the pointer is down, moved(event) is called.
export function followPointer(moved) {
  const stop = () => document.removeEventListener("pointermove", moved);
  document.addEventListener("pointermove", moved);
  document.addEventListener("pointerup", stop, { once: true });
}

const leastHeight = 850; // of a window in which the matrices below have room, too

// A drawing above the matrices, {root, show()}: contents() is drawn anew for every cell that is chosen, while it is open.
export function foldedDrawing(name, title, contents) {
  const body = element("div");
  const show = () => {
    if (root.open && root.isConnected) body.replaceChildren(...contents());
  };
  const looks = { class: `folded ${name}`, open: innerHeight >= leastHeight, on: { toggle: show } };
  const root = element("details", looks, element("summary", { text: title }), body);
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
