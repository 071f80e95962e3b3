export function exportMenuOf(app, matrix) {
  return null;
}
