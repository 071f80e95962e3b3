// From zero, which is the background, evenly to both signs; a share has one hue.
const levels = 48;
const known = new Map();

// The colours of the theme, as the style sheet has them.
export function themeColours(element) {
  const style = getComputedStyle(element);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    zero: read("--zero"),
    positive: read("--positive"),
    negative: read("--negative"),
    share: read("--share"),
    ink: read("--ink"),
    onDeep: read("--on-deep"),
    faint: read("--faint"),
    line: read("--line"),
    hidden: read("--hidden"),
    cursor: read("--cursor"),
    lit: read("--lit"),
    fed: read("--fed"),
    wrong: read("--wrong"),
    font: style.fontFamily,
  };
}

function ramp(zero, end) {
  const key = `${zero} ${end}`;
  if (!known.has(key)) {
    const steps = Array.from({ length: levels + 1 }, (_, i) => {
      const share = (100 * i) / levels;
      return `color-mix(in oklab, ${zero} ${100 - share}%, ${end})`;
    });
    known.set(key, steps);
  }
  return known.get(key);
}

// size: the number that gets the full colour
export function colourScale(colours, hue, size) {
  const up = ramp(colours.zero, hue === "share" ? colours.share : colours.positive);
  const down = ramp(colours.zero, colours.negative);
  return (x) => {
    if (!Number.isFinite(x)) return colours.hidden;
    const depth = size > 0 ? Math.min(1, Math.abs(x) / size) : 0;
    return (x < 0 ? down : up)[Math.round(depth * levels)];
  };
}

// Whether a number on this depth of colour needs the light ink.
export function isDeep(x, size, hue) {
  const deepFrom = x > 0 && hue !== "share" ? 0.78 : 0.6;
  return Number.isFinite(x) && size > 0 && Math.abs(x) / size > deepFrom;
}

export function largestMagnitude(data, grid) {
  let largest = 0;
  for (let row = 0; row < grid.rows; row++) {
    let at = grid.start + row * grid.rowStride;
    for (let column = 0; column < grid.columns; column++, at += grid.columnStride) {
      const size = Math.abs(data[at]);
      if (size > largest && size < Infinity) largest = size;
    }
  }
  return largest;
}
