// Chapters that are no step of the tape.
import { exercisesView } from "./exercises.js";
import { glanceView } from "./glance.js";
import { graphView } from "./graph_view.js";
import { trainingView } from "./training_view.js";

const views = {
  glance: glanceView,
  graph: graphView,
  training: trainingView,
  exercises: exercisesView,
};

export function specialView(app) {
  return views[app.lesson.step.kind]?.(app) ?? null;
}
