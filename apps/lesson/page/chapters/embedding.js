// The vectors of tokens or patches, and what is added for their positions.
import { sharePart, sharesOfUses } from "./ledgers.js";
import { linearShown, ofQuantity, partsOfLinear, sequencePart } from "./parts.js";
import { areEqual, hasZeroRow } from "../lesson/premises.js";
import { embeddingBehind } from "../lesson/sequences.js";

export const embeddingChapter = {
  id: "embedding",
  questions: [
    { key: "embedding.same_gradient", holds: (lesson) => areEqual(lesson, "dA", "de") },
    { key: "embedding.zero_rows", holds: (lesson) => hasZeroRow(lesson, lesson.step.table) },
  ],
  step({ anatomy, layer, queries, vocabulary }) {
    const { stack } = layer;
    const embedded = anatomy.at(`${stack}embedded`);
    const input = anatomy.at(`${stack}blocks.0.input`);
    const positions = anatomy.at(`${stack}positions`);
    if (embedded === undefined) return null;
    const hasSum = positions !== undefined && input !== undefined && input !== embedded;
    const places = queries.map((_, i) => String(i));
    const hasClass = anatomy.at("class_token") !== undefined;
    const made = hasClass ? "A [t ≥ 1]" : anatomy.at("pixels") === undefined ? "A [t]" : "A";
    const table = tableOf(anatomy, stack, vocabulary, made);
    const patches = patchesOf(anatomy, embedded, queries.slice(hasClass ? 1 : 0), made);
    const classToken = hasClass ? [sequencePart("c", anatomy.at("class_token"), null, "w")] : [];
    const stream = [
      ...(table ? [table.part] : []),
      sequencePart("A", embedded, queries),
      ...(hasSum ? [sequencePart("e", positions, places, "e"), sequencePart("X_{in}", input, queries)] : []),
    ];
    return {
      texts: hasSum ? "embedding" : "embedding_alone",
      picture: patches !== null,
      table: table?.gradient,
      layout: { kind: "stack", parts: [...(patches?.parts ?? []), ...classToken, ...ofQuantity("stream", stream)] },
      forward: [
        ...(hasClass ? ["A [0] = c"] : []),
        patches?.forward ?? `${made} = W_E [token_t]`,
        ...(hasSum ? ["X_{in} = A + e"] : []),
      ].flat(),
      backward: [
        ...(hasSum ? ["dA = dX_{in}"] : []),
        ...(hasSum && anatomy.gradient(positions) !== undefined ? ["de = dX_{in}"] : []),
        ...(hasClass ? ["dc = dA [0]"] : []),
        patches?.backward ?? table?.rule ?? [],
      ].flat(),
    };
  },
};

// The table of tokens, {part, gradient, rule}, or null. Before an encoder it has the gradient of that use alone.
function tableOf(anatomy, stack, vocabulary, made) {
  const table = anatomy.at("token_embedding.weight");
  if (table === undefined) return null;
  const part = sequencePart("W_E", table, vocabulary, "w");
  const embedding = embeddingBehind(anatomy, anatomy.at(`${stack}embedded`));
  const shares = sharesOfUses(anatomy, table);
  const sum = `Σ_{t: token_t = v} d${made}`;
  if (stack === "encoder." && shares.length > 1) {
    const { value } = shares.find(({ op }) => op === embedding);
    const gradientPart = sharePart(anatomy, { symbol: "W_{E}", path: "enc", x: table, value, rowNames: vocabulary });
    return { part: { ...part, gradientPart }, gradient: gradientPart.symbol, rule: `${gradientPart.symbol} [v] = ${sum}` };
  }
  const others = shares.filter(({ op }) => op !== embedding);
  const further = others.map(({ op }) => (op.op === "linear" ? " + dW_{logits}^T [v]" : " + dW_{E,enc} [v]"));
  return { part, gradient: "dW_E", rule: `dW_E [v] = ${sum}${further.join("")}` };
}

// The linear map that makes vectors of a picture's patches, {parts, forward, backward}, or null.
function patchesOf(anatomy, embedded, rowNames, made) {
  const op = embeddingBehind(anatomy, embedded);
  if (op?.op !== "linear") return null;
  const [x, weight, bias] = op.inputs;
  anatomy.call(x, "I");
  const pixels = { ...sequencePart("I", x, rowNames), noGradient: true };
  const map = partsOfLinear({ weight, bias }, "_I");
  const { forward, backward } = linearShown(pixels, map, { symbol: made });
  return { parts: [pixels, ...map], forward, backward: backward.slice(0, -1) };
}
