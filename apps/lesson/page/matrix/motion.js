// What a chosen cell is the sum of runs into it: a row and a column that meet in an inner product,
// addends in their sum. Decoration only: it comes after everything, and nothing waits for it.
import { element } from "../../../report/page/dom.js";
import { marksOf } from "./marks.js";

const duration = 260; // milliseconds

export class Motion {
  constructor(root) {
    this.root = root;
    this.wanted = matchMedia("(prefers-reduced-motion: no-preference)");
    this.running = [];
  }

  // maps: those that are shown; marks: of the panel
  show(maps, { chosen, lit, isSum }) {
    cancelAnimationFrame(this.frame);
    for (const ghost of this.running) ghost.remove();
    this.running = [];
    if (!this.wanted.matches || !chosen || !isSum) return;
    this.frame = requestAnimationFrame(() => {
      const target = maps.find((map) => map.matrix.key === chosen.key);
      if (!target) return;
      const end = placeOf(target, [chosen]);
      for (const map of maps) {
        const cells = [...marksOf(map.matrix, lit).values()];
        if (cells.length > 0) this.run(map, placeOf(map, cells), end);
      }
    });
  }

  run(map, begin, end) {
    const { left, top, width, height } = begin;
    const style = `left: ${left}px; top: ${top}px; width: ${width}px; height: ${height}px`;
    const ghost = element("div", { class: "ghost", "aria-hidden": "true", style });
    ghost.dataset.matrix = map.matrix.key;
    this.root.append(ghost);
    this.running.push(ghost);
    const moved = `translate(${end.left - left}px, ${end.top - top}px)`;
    const scaled = `scale(${end.width / width}, ${end.height / height})`;
    const frames = [
      { transform: "none", opacity: 0.55 },
      { transform: `${moved} ${scaled}`, opacity: 0.25 },
    ];
    ghost.animate(frames, { duration, easing: "ease-in" }).finished.then(
      () => ghost.remove(),
      () => {}, // removed before its end
    );
  }
}

// Of cells of a heat map, all in one rectangle, in the window.
function placeOf(map, cells) {
  const box = map.base.getBoundingClientRect();
  const rows = cells.map(({ row }) => row);
  const columns = cells.map(({ column }) => column);
  const [first, last] = [Math.min(...rows), Math.max(...rows)];
  const [from, to] = [Math.min(...columns), Math.max(...columns)];
  return {
    left: box.left + map.left + from * map.cellWidth,
    top: box.top + map.top + first * map.cellHeight,
    width: (to - from + 1) * map.cellWidth,
    height: (last - first + 1) * map.cellHeight,
  };
}
