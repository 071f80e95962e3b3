// What the unit tests of the page's modules use of node:test, in a browser.
const failures = [];
let count = 0;
let last = Promise.resolve();

async function run(name, body) {
  count += 1;
  try {
    await body({ test });
  } catch (error) {
    failures.push(`${name}: ${error.message ?? error}`);
  }
}

export default function test(name, ...rest) {
  last = last.then(() => run(name, rest.at(-1)));
  return last;
}

export { test, test as it };

export function describe(name, body) {
  body();
}

export async function finished() {
  let seen;
  do {
    seen = last;
    await seen;
  } while (seen !== last);
  return { count, failures };
}
