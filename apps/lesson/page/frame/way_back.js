// The way back as a route of its own: the chain of gradients from the loss, each with its norm; and of a
// step what arrives, by what it is multiplied, and what leaves.
import { flowStations, stationOf } from "../chapters/flow.js";
import { element } from "../../../report/page/dom.js";
import { formula } from "../../../report/page/formula.js";
import { shortNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

export const isWayBack = ({ state }) => state.route === "back";

export function gradientChain(app) {
  const { lesson } = app;
  const items = chainOf(lesson)
    .filter(({ backward }) => backward)
    .map(({ step, backward }) =>
      element(
        "li",
        {},
        element(
          "a",
          {
            href: app.addressOf({ step: step.id, cell: null }),
            "aria-current": step === lesson.step ? "step" : null,
          },
          formula(backward.symbol),
          element("small", { text: `‖${shortNumber(backward.norm)}‖` }),
        ),
      ),
    );
  const loss = element("li", {}, formula("ℓ"));
  return element("ol", { class: "gradient-chain", "aria-label": say("route.chain") }, loss, items);
}

// From the logits to W_q.
function chainOf(lesson) {
  const scores = stationOf(lesson, [["softmax", "S_m"], ["softmax", "S"]]);
  const weight = stationOf(lesson, [["query", "W_q"]]);
  const stations = flowStations(lesson).flat().reverse();
  const weights = stations.findIndex(({ step }) => step.id === "softmax");
  return [...stations.toSpliced(weights + 1, 0, scores), weight].filter(Boolean);
}

export function whatPasses({ lesson }) {
  const matrices = lesson.matrices().filter(({ backward }) => backward?.symbol.startsWith("d"));
  if (matrices.length < 2) return null;
  const [arriving, ...leaving] = matrices.map(({ backward }) => backward).reverse();
  const list = (parts) => parts.map((part, i) => [i > 0 ? ", " : "", part]).flat();
  const line = (key, parts) => element("p", {}, element("strong", { text: `${say(key)}: ` }), list(parts));
  return element(
    "div",
    { class: "what-passes" },
    line("route.arrives", [formula(arriving.symbol)]),
    line("route.local", [lesson.step.backward].flat().filter(Boolean).map(formula)),
    line("route.leaves", leaving.reverse().map(({ symbol }) => formula(symbol))),
  );
}
