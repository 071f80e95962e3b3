export function exercisesView(app) {
  return document.createElement("div");
}
