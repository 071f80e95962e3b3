// The derivative beside what differences of the loss say, computed when there is time.
import { sectionElement } from "../frame/elements.js";
import { finiteDifference, vCurvePoints } from "../tape/differences.js";
import { element, svgElement } from "../../../report/page/dom.js";
import { fullNumber, shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

// `through`: the op by which a path leaves the value, where the derivative is that of one path.
export function differenceCheck({ lesson }, idle, { value, index, derivative, through }) {
  const { tape } = lesson;
  const body = element("div", { class: "difference" }, element("p", { text: say("difference.computing") }));

  const compare = () => {
    if (!Number.isFinite(tape.number(value, index))) {
      body.replaceChildren(element("p", { text: say("difference.cannot_move") }));
      return;
    }
    const found = finiteDifference(tape, value, index, through);
    const apart = Math.abs(found.value - derivative);
    const agrees = apart <= Math.max(3 * found.error, 1e-8 * Math.abs(found.value));
    const told = `${say("difference.differs_by", { by: shortNumber(apart) })} ${agrees ? "✓" : "✗"}`;
    body.replaceChildren(
      pair("difference.numeric", fullNumber(found.value), "numeric-value"),
      pair("difference.derivative", fullNumber(derivative)),
      element("p", { class: `verdict ${agrees ? "good" : "bad"}`, id: "difference-verdict", text: told }),
    );
    idle.add(drawCurve);
  };

  // One point at a time: each runs the model twice.
  const drawCurve = () => {
    const points = [];
    const coming = vCurvePoints(tape, value, index, { through, derivative });
    const next = () => {
      const { value: point, done } = coming.next();
      if (done) {
        body.append(element("p", { class: "curve-title", text: say("difference.v_curve") }), curve(points));
      } else {
        points.push(point);
        idle.add(next);
      }
    };
    next();
  };

  idle.add(compare);
  const hint = through ? element("p", { class: "hint", text: say("difference.one_of_paths") }) : null;
  return sectionElement("check", say("cell.check"), hint, body);
}

function pair(label, number, id) {
  return element(
    "p",
    { class: "pair" },
    element("span", { text: say(label) }),
    element("output", { class: "number", id, text: number }),
  );
}

const width = 260;
const height = 96;
const edge = { left: 40, right: 8, top: 8, bottom: 20 };

// Error against step, both by powers of ten: falls with h², rises again with rounding / h.
function curve(points) {
  const floor = 1e-17;
  const powers = points.map(({ error }) => Math.log10(Math.max(floor, error)));
  const low = Math.floor(Math.min(...powers));
  const high = Math.max(low + 1, Math.ceil(Math.max(...powers)));
  const across = width - edge.left - edge.right;
  const down = height - edge.top - edge.bottom;
  const x = (i) => edge.left + (across * i) / (points.length - 1);
  const y = (power) => edge.top + (down * (high - power)) / (high - low);
  const path = powers.map((power, i) => `${x(i)},${y(power)}`).join(" ");
  const best = powers.indexOf(Math.min(...powers));
  const label = (text, at, anchor) =>
    svgElement("text", { x: at[0], y: at[1], "text-anchor": anchor, text });
  return svgElement(
    "svg",
    {
      class: "curve",
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": say("difference.curve_label", {
        h: points[best].h,
        error: shortNumber(points[best].error),
      }),
    },
    svgElement("line", { x1: edge.left, x2: width - edge.right, y1: y(low), y2: y(low) }),
    svgElement("line", { x1: edge.left, x2: edge.left, y1: y(low), y2: y(high) }),
    svgElement("polyline", { points: path }),
    powers.map((power, i) =>
      svgElement("circle", { cx: x(i), cy: y(power), r: i === best ? 4 : 2 }),
    ),
    label(`1e${high}`, [edge.left - 4, edge.top + 8], "end"),
    label(`1e${low}`, [edge.left - 4, y(low)], "end"),
    label(`h = ${points[0].h}`, [edge.left, height - 5], "start"),
    label(`${points[points.length - 1].h}`, [width - edge.right, height - 5], "end"),
  );
}
