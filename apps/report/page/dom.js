// Elements of the page. Texts go in as texts, never as markup.

// element("button", {class: "big", text: "Go", on: {click}}, child, …); other properties are
// attributes.
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  return filled(made, properties, children);
}

const svgNamespace = "http://www.w3.org/2000/svg";
const mathNamespace = "http://www.w3.org/1998/Math/MathML";

export function svgElement(tag, properties = {}, ...children) {
  return filled(document.createElementNS(svgNamespace, tag), properties, children);
}

export function mathElement(tag, properties = {}, ...children) {
  return filled(document.createElementNS(mathNamespace, tag), properties, children);
}

function filled(made, { text = undefined, on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const [event, listener] of Object.entries(on)) made.addEventListener(event, listener);
  if (text !== undefined) made.textContent = text;
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

export function replaceChildren(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null));
  return parent;
}

// A download without any request: a link to a blob of the text.
export function saveText(name, text, type = "text/plain") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url));
}
