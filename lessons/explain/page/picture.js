// The picture that a Vision Transformer reads, cut into patches; shares of attention over them.
import { element } from "./dom.js";
import { say } from "./texts.js";
import { patchGrid } from "./sequences.js";

const largestSide = 176;

// shares: one number for each row of the sequence, or null; marked: a row
export function pictureOf(app, { shares = null, marked = null } = {}) {
  const { lesson, colours } = app;
  const grid = patchGrid(lesson.anatomy);
  if (!grid) return null;
  const { shape, data } = lesson.tape.values[grid.pixels];
  const [height, width] = shape.slice(-2);
  const channels = shape[shape.length - 3];
  const scale = Math.max(1, Math.floor(largestSide / Math.max(height, width)));
  const canvas = element("canvas", {
    width: width * scale,
    height: height * scale,
    role: "img",
    "aria-label": say("picture"),
  });
  const context = canvas.getContext("2d");
  const range = levelsOf(data);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const levels = Array.from({ length: 3 }, (_, i) => {
        const channel = Math.min(i, channels - 1);
        const value = data[(channel * height + y) * width + x];
        return Math.round((255 * (value - range.low)) / range.size);
      });
      context.fillStyle = `rgb(${levels})`;
      context.fillRect(x * scale, y * scale, scale, scale);
    }
  }
  const side = (width * scale) / grid.side;
  paintPatches(context, { ...grid, pixels: side, shares, marked, colours });
  return canvas;
}

function levelsOf(data) {
  const low = data.reduce((a, b) => Math.min(a, b), Infinity);
  const high = data.reduce((a, b) => Math.max(a, b), -Infinity);
  return { low, size: high - low || 1 };
}

function paintPatches(context, { classTokens, side, pixels, shares, marked, colours }) {
  const largest = shares ? shares.reduce((a, b) => Math.max(a, b), 0) : 0;
  for (let patch = 0; patch < side * side; patch++) {
    const x = (patch % side) * pixels;
    const y = Math.floor(patch / side) * pixels;
    const row = patch + classTokens;
    if (shares && largest > 0) {
      context.globalAlpha = 0.75 * (shares[row] / largest);
      context.fillStyle = colours.share;
      context.fillRect(x, y, pixels, pixels);
      context.globalAlpha = 1;
    }
    context.strokeStyle = row === marked ? colours.lit : colours.faint;
    context.lineWidth = row === marked ? 3 : 1;
    const inset = context.lineWidth / 2;
    context.strokeRect(x + inset, y + inset, pixels - 2 * inset, pixels - 2 * inset);
  }
}
