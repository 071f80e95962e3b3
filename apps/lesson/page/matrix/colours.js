// From zero, which is the background, evenly to both signs; a share has one hue.
const levels = 48;
const known = new Map();

const names = ["zero", "positive", "negative", "share", "hidden", "ink", "inverse", "faint", "line", "cursor", "lit", "fed"];

// The colours of the theme, as the style sheet has them.
export function themeColours(element) {
  const style = getComputedStyle(element);
  const colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  return { ...colours, font: style.fontFamily };
}

// The colours between two, as the browser mixes them, in bytes.
function ramp(zero, end) {
  const key = `${zero} ${end}`;
  if (!known.has(key)) {
    const canvas = document.createElement("canvas");
    canvas.width = levels + 1;
    canvas.height = 1;
    const context = canvas.getContext("2d");
    for (let i = 0; i <= levels; i++) {
      const share = (100 * i) / levels;
      context.fillStyle = `color-mix(in oklab, ${zero} ${100 - share}%, ${end})`;
      context.fillRect(i, 0, 1, 1);
    }
    known.set(key, context.getImageData(0, 0, levels + 1, 1).data);
  }
  return known.get(key);
}

// f(x, bytes, at) writes the colour of a number; size: the number that gets the full colour.
export function colourBytes(colours, hue, size) {
  const up = ramp(colours.zero, hue === "share" ? colours.share : colours.positive);
  const down = ramp(colours.zero, colours.negative);
  const hidden = ramp(colours.zero, colours.hidden);
  return (x, bytes, at) => {
    const isNumber = Number.isFinite(x);
    const depth = size > 0 ? Math.min(1, Math.abs(x) / size) : 0;
    const from = isNumber ? (x < 0 ? down : up) : hidden;
    const level = 4 * (isNumber ? Math.round(depth * levels) : levels);
    for (let i = 0; i < 4; i++) bytes[at + i] = from[level + i];
  };
}

// The same as a text for styles.
export function colourScale(colours, hue, size) {
  const write = colourBytes(colours, hue, size);
  const bytes = new Uint8ClampedArray(4);
  return (x) => {
    write(x, bytes, 0);
    return `rgb(${bytes.slice(0, 3).join(" ")})`;
  };
}

// Whether a number on this depth of colour needs the light ink.
export function isDeep(x, size, hue) {
  const deepFrom = x > 0 && hue !== "share" ? 0.78 : 0.6;
  return Number.isFinite(x) && size > 0 && Math.abs(x) / size > deepFrom;
}
