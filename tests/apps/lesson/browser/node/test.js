// What the unit tests of the page's modules use of node:test and node:fs, in a browser.
const failures = [];
let count = 0;
let last = Promise.resolve();

async function run(name, body) {
  count += 1;
  try {
    await body();
  } catch (error) {
    failures.push(`${name}: ${error.message ?? error}`);
  }
}

export default function test(name, body) {
  last = last.then(() => run(name, body));
}

export async function finished() {
  await last;
  return { count, failures };
}

export function readFileSync(url) {
  const request = new XMLHttpRequest();
  request.open("GET", url, false);
  request.send();
  return request.responseText;
}

export const readdirSync = (url) => [...readFileSync(url).matchAll(/href="([^"/]+)"/g)].map(([, name]) => name);
