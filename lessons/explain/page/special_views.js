export function specialView(app) {
  return null;
}
