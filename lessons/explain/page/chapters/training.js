// The same example at the steps of training that were kept: what each head looked at, how evenly,
// the loss, and how large the gradient of each part of the model was.
import { element } from "../frame/dom.js";
import { layerName } from "../lesson/layer_name.js";
import { shortNumber } from "../ops/numbers.js";
import { paintSmallMap, smallMap } from "../matrix/small_map.js";
import { sparkline } from "./sparkline.js";
import { say } from "../texts/say.js";
import { meanEntropy, ofHead } from "../lesson/training.js";

export const trainingChapter = {
  id: "training",
  group: "more",
  texts: {
    name: ["Training", "训练"],
    what: [
      "The same example at each checkpoint of the run: what it looks at, its loss, its gradients.",
      "同一个样本在每个检查点上的样子：它看哪里，损失多大，梯度多大。",
    ],
    why: [
      "At the start every row of P is nearly even; what a head is for is learned.",
      "开始时 P 的每一行几乎是均匀的；一个头负责什么，是训练出来的。",
    ],
    questions: [
      {
        ask: [
          "Which falls first, the loss or the entropy of a head?",
          "哪个先下降：损失，还是某个头的熵？",
        ],
        answer: [
          "Move the slider to where a map becomes sharp, and read both curves there.",
          "把滑块移到注意力图变尖锐的那一步，再看这里的两条曲线。",
        ],
      },
    ],
  },
  step: ({ document }) => (document.history?.length > 1 ? {} : null),
  view: trainingView,
};

// Shares, 0 to 1: one scale for all steps.
const look = (app) => ({ colours: app.colours, hue: "share", largest: 1 });

function trainingView(app) {
  const { training, state } = app.lesson;
  const { steps } = training;
  const wanted = steps.indexOf(Number(state.at ?? NaN));
  const at = wanted < 0 ? steps.length - 1 : wanted;
  const views = [...mapRows(app), seriesTable(training)];
  const said = element("output", { for: "training-step" });
  const slider = element("input", {
    id: "training-step",
    type: "range",
    min: 0,
    max: steps.length - 1,
    step: 1,
    value: at,
    "aria-label": say("training_step"),
  });
  const show = (i) => {
    said.textContent = say("training_at", { step: steps[i], last: steps.at(-1) });
    slider.setAttribute("aria-valuetext", said.textContent);
    for (const view of views) view.show(i);
  };
  slider.addEventListener("input", () => show(slider.valueAsNumber));
  slider.addEventListener("change", () => app.go({ at: String(steps[slider.valueAsNumber]) }, { replace: true }));
  show(at);
  return element(
    "div",
    { class: "training" },
    element("div", { class: "training-slider" }, slider, said),
    views.map(({ root }) => root),
  );
}

function mapRows(app) {
  return Object.entries(app.lesson.training.layers).map(([path, layer]) => {
    const heads = Array.from({ length: layer.shape[0] }, (_, head) => headTile(app, layer, head));
    const root = element(
      "section",
      { class: "layer-row", "aria-label": layerName(path) },
      element("h3", { text: layerName(path) }),
      element(
        "div",
        { class: "tiles" },
        heads.map((tile) => tile.root),
      ),
    );
    return { root, show: (i) => heads.forEach((tile) => tile.show(i)) };
  });
}

function headTile(app, { shape, shares }, head) {
  const [, rows, columns] = shape;
  const map = smallMap(ofHead(shares[0], shape, head), rows, columns, look(app));
  const facts = element("span", { class: "facts" });
  const root = element(
    "div",
    { class: "tile" },
    element("span", { class: "tile-name", text: `${say("head")} ${head}` }),
    map,
    facts,
  );
  const show = (i) => {
    const data = ofHead(shares[i], shape, head);
    paintSmallMap(map, data, look(app));
    facts.textContent = `${say("entropy")} ${shortNumber(meanEntropy(data, rows))}`;
  };
  return { root, show };
}

function seriesTable({ steps, series }) {
  const lines = series.map((each) => seriesLine(steps, each));
  const names = ["training_what", "training_now", "training_over", "training_range"];
  const root = element(
    "table",
    { class: "series" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        names.map((name) => element("th", { scope: "col", text: say(name) })),
      ),
    ),
    element(
      "tbody",
      {},
      lines.map((line) => line.root),
    ),
  );
  return { root, show: (i) => lines.forEach((line) => line.show(i)) };
}

function seriesLine(steps, { kind, name, head, numbers }) {
  const curve = sparkline(steps, numbers, { isLogarithmic: kind !== "entropy" });
  const now = element("td", { class: "now" });
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const root = element(
    "tr",
    {},
    element("th", { scope: "row", text: say(`training_${kind}`, { name, head }) }),
    now,
    element("td", {}, curve.root),
    element("td", { class: "range", text: `${shortNumber(low)} … ${shortNumber(high)}` }),
  );
  const show = (i) => {
    now.textContent = shortNumber(numbers[i]);
    curve.markAt(i);
  };
  return { root, show };
}
