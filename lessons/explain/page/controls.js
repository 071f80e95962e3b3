export function switchBar(app) {
  return [];
}
