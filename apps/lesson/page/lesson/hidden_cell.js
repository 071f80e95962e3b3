// The cell of an exercise, whose number no place of the page may tell.
import { gridOf, indexIn } from "./looks.js";
import { keyOf } from "./symbols.js";
import { partsOf, shownOf } from "../chapters/parts.js";

// {value, index}, or null. The step that is open comes first, as it says what a name means.
export function hiddenCellOf(lesson) {
  const { covered: exercise } = lesson;
  const { head } = lesson.state;
  if (!exercise) return null;
  const { steps } = lesson.chapters;
  for (const step of [lesson.step, ...steps]) {
    for (const { part, value, symbol } of partsOf(step).flatMap((each) => shownOf(lesson.anatomy, each))) {
      if (keyOf(symbol) !== exercise.key) continue;
      const grid = gridOf(part, lesson.anatomy.shape(part.value), head, lesson.heads);
      const isThere = exercise.row < grid.rows && exercise.column < grid.columns;
      return isThere ? { value, index: indexIn(grid, exercise.row, exercise.column) } : null;
    }
  }
  return null;
}
