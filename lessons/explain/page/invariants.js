export function invariantMarks(app, names) {
  return null;
}
