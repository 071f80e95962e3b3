// The maps of where a claim holds. The reader chooses a point and bets; then the map is uncovered.
import { element } from "./dom.js";
import { inBoth } from "./parts.js";

const kinds = { "✓": "agrees", "✗": "disagrees" };

function play(box) {
  const table = box.querySelector("table");
  const head = [...table.tHead.rows[0].cells].slice(1);
  const rows = [...table.tBodies[0].rows];
  for (const cell of rows.flatMap((row) => [...row.cells].slice(1))) {
    cell.className = kinds[cell.textContent] ?? "undecided";
  }
  const output = element("output");
  const verdict = element("p");
  let bet;
  const sliders = [head, rows.map((row) => row.cells[0])].map((names) => {
    const middle = Math.floor((names.length - 1) / 2);
    return element("input", { type: "range", min: 0, max: names.length - 1, step: 1, value: middle, on: { input: update } });
  });
  function update() {
    const [column, row] = sliders.map((slider) => Number(slider.value));
    const names = [head[column].textContent, rows[row].cells[0].textContent];
    sliders.forEach((slider, i) => slider.setAttribute("aria-label", names[i]));
    output.textContent = names.join(", ");
    table.querySelector(".point")?.classList.remove("point");
    const cell = rows[row].cells[column + 1];
    cell.classList.add("point");
    const found = { "✓": "holds", "✗": "fails" }[cell.textContent] ?? "unknown";
    const parts = bet === undefined ? ["ask"] : [found];
    if (bet && found !== "unknown") parts.push(bet === found ? "right" : "wrong");
    verdict.replaceChildren(...parts.flatMap((key) => [...inBoth(`where.${key}`), " "]));
  }
  const uncover = (on) => () => {
    bet = on;
    update();
    bet = "";
    box.classList.remove("covered");
    buttons.remove();
  };
  const button = (on) => element("button", { type: "button", on: { click: uncover(on) } }, inBoth(`where.bet ${on}`));
  const buttons = element("p", {}, button("holds"), " ", button("fails"));
  box.classList.add("covered", "slider");
  box.prepend(element("label", {}, ...sliders, output), verdict, buttons);
  update();
}

export function fillMaps() {
  for (const box of document.querySelectorAll(".where")) play(box);
}
