// A browser has no files: the unit tests that look for some find none.
export const readdirSync = () => [];

export function readFileSync(path) {
  throw new Error(`there is no ${path} in a browser`);
}
