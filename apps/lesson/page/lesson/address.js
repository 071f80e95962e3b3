// The address of a state: #layer=…&step=…&head=…&cell=dS.3.1&lang=zh.

const plainNames = ["layer", "step", "lang", "theme", "zoom", "style", "break", "form", "at", "route", "slide", "scene", "learn", "rate", "case", "guess", "trail", "prompt", "pairs"];

export function readAddress(hash) {
  const found = {};
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  for (const name of plainNames) if (given.has(name)) found[name] = given.get(name);
  if (/^\d+$/.test(given.get("head") ?? "")) found.head = Number(given.get("head"));
  for (const name of ["cell", "exercise"]) {
    const cell = /^(.+)\.(\d+)\.(\d+)$/.exec(given.get(name) ?? "");
    if (cell) found[name] = { key: cell[1], row: Number(cell[2]), column: Number(cell[3]) };
  }
  found.settings = readSettings(given);
  found.edits = given.getAll("edit").map(readEdit).filter(Boolean);
  return found;
}

function readSettings(given) {
  const settings = {};
  for (const name of ["causal", "scale", "bias", "residual"]) {
    if (given.has(name)) settings[name] = given.get(name) === "1";
  }
  if (/^\d+$/.test(given.get("window") ?? "")) settings.window = Number(given.get("window"));
  return settings;
}

function readEdit(text) {
  const match = /^(\d+)\.(\d+)=(.+)$/.exec(text);
  if (!match || !Number.isFinite(Number(match[3]))) return null;
  return { value: Number(match[1]), index: Number(match[2]), number: Number(match[3]) };
}

export function writeAddress(state) {
  const parts = new URLSearchParams();
  for (const name of plainNames) if (state[name]) parts.set(name, state[name]);
  parts.set("head", state.head);
  for (const name of ["cell", "exercise"]) {
    const cell = state[name];
    if (cell) parts.set(name, `${cell.key}.${cell.row}.${cell.column}`);
  }
  for (const [name, value] of Object.entries(state.settings ?? {})) {
    parts.set(name, typeof value === "boolean" ? Number(value) : value);
  }
  for (const { value, index, number } of state.edits ?? []) {
    parts.append("edit", `${value}.${index}=${number}`);
  }
  return `#${parts}`;
}
