export function graphView(app) {
  return document.createElement("div");
}
