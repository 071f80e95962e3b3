// The feed-forward layer: up, an activation, down.
import { ruleOfUses, shareThrough } from "./ledgers.js";
import { linearShown, ofQuantity, partsOfLinear, sequencePart } from "./parts.js";

export const upChapter = {
  id: "up",
  questions: [{ key: "up.other_tokens" }],
  step(facts) {
    const { anatomy, layer } = facts;
    const source = layer.norm === undefined ? "R" : "N";
    const up = linearStep(facts, { value: layer.up, source, letter: "1", symbol: "U" });
    const gate = gateOf(facts);
    if (!up || gate === null) return up;
    const gateStep = linearStep(facts, { value: gate, source, letter: "3", symbol: "U_3" });
    const whole = layer.isNormLast || source === "R" ? [] : ruleOfUses(anatomy, { x: up.layout.left.value, symbol: source });
    return [up, { ...gateStep, id: "gate", texts: "up", backward: [...gateStep.backward, ...whole] }];
  },
};

// Of hidden = silu(gate) ∘ up, or null.
function gateOf({ anatomy, layer: { hidden } }) {
  const [first, second] = anatomy.op(hidden)?.op === "mul" ? anatomy.op(hidden).inputs : [];
  return first === second ? null : anatomy.adopt(anatomy.op(first).inputs[0]);
}

const flatBelow = ["relu", "gelu", "silu"];

export const activationChapter = {
  id: "activation",
  hasExercises: true,
  questions: [
    { key: "activation.little_gradient", holds: ({ anatomy, layer }) => flatBelow.includes(anatomy.maker(layer.hidden)?.op) },
  ],
  step({ anatomy, layer, queries }) {
    const { up, hidden } = layer;
    const activation = hidden === undefined ? null : anatomy.maker(hidden);
    if (up === undefined || !activation) return null;
    const gate = gateOf({ anatomy, layer });
    const name = activation.attributes.tanh ? "gelu_tanh" : activation.op;
    const rules =
      gate !== null
        ? { forward: "G = silu(U_3) ∘ U", backward: ["dU = dG ∘ silu(U_3)", "dU_3 = dG ∘ U ∘ silu'(U_3)"] }
        : name === "mul"
          ? { forward: "G = relu(U)^2", backward: "dU = 2 dG ∘ relu(U)" }
          : { forward: `G = ${name}(U)`, backward: `dU = dG ∘ ${name}'(U)` };
    const gateParts = gate === null ? [] : [sequencePart("U_3", gate, queries, "f")];
    const parts = [...gateParts, sequencePart("U", up, queries, "f"), sequencePart("G", hidden, queries, "f")];
    return { layout: { kind: "stack", parts: ofQuantity("activation", parts) }, ...rules };
  },
};

export const downChapter = {
  id: "down",
  questions: [{ key: "down.which_features" }],
  step: (facts) =>
    linearStep(facts, { value: facts.layer.feedForward, source: "G", letter: "2", symbol: "F" }),
};

function linearStep({ anatomy, queries }, { value, source, letter, symbol }) {
  const linear = value === undefined ? null : anatomy.linearBehind(value);
  if (!linear) return null;
  const { scope } = anatomy.maker(value);
  const way = { scope, path: letter, symbol: source, x: linear.x, rowNames: queries };
  const gradientPart = shareThrough(anatomy, way); // where a residual reads the same x
  const left = { ...sequencePart(source, linear.x, queries, "f"), gradientPart };
  return linearShown(left, partsOfLinear(linear, `_${letter}`), sequencePart(symbol, value, queries, "f"));
}
