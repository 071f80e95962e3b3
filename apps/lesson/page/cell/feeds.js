// Which cells read the chosen one: by matrix, whole rows and columns in one name.
import { operandElement, sectionElement } from "../frame/elements.js";
import { element } from "../../../report/page/dom.js";
import { say } from "../texts/say.js";

const mostNames = 12;

export function feedsOf(app, fed) {
  if (fed.length === 0) return null;
  const groups = new Map();
  for (const cell of fed) {
    const name = app.lesson.name(cell.value, cell.index);
    const bracket = name.lastIndexOf("[");
    const [key, head = ""] = name.slice(0, bracket).split("₍");
    const subscript = name.slice(bracket + 1, -1).split(",");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push({ ...cell, subscript, head });
  }
  const items = [...groups].map(([name, cells]) => element("li", {}, buttonOf(app, name, cells)));
  const most = items.slice(0, mostNames);
  const more = items.length - most.length;
  if (more > 0) most.push(element("li", { text: say("feeds.and_more", { count: more }) }));
  return sectionElement("feeds", say("feeds.title"), element("ul", {}, most));
}

function buttonOf(app, name, cells) {
  const [{ value, index }] = cells;
  const title = say("feeds.cells", { count: cells.length });
  const text = `${name}[${subscriptOf(cells)}]${headsOf(cells)}`;
  return operandElement(app, text, cells, () => app.goToCell(value, index), { title });
}

// Where more than one head reads it.
function headsOf(cells) {
  const { size } = new Set(cells.map(({ head }) => head));
  return size > 1 ? ` · ${say("feeds.heads", { count: size })}` : "";
}

// 3,0 3,1 3,2 are 3,0…2
function subscriptOf(cells) {
  const axes = cells[0].subscript.map((_, axis) => {
    const all = [...new Set(cells.map(({ subscript }) => subscript[axis]))];
    return all.length === 1 ? all[0] : `${all[0]}…${all[all.length - 1]}`;
  });
  return axes.join(",");
}
