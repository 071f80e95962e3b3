// The vectors of tokens or patches, and what is added for their positions.
import { sharePart, sharesOfUses } from "./ledgers.js";
import { ofQuantity, sequencePart } from "./parts.js";
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
    const table = tableOf(anatomy, stack, vocabulary);
    const stream = [
      ...(table ? [table.part] : []),
      sequencePart("A", embedded, queries),
      ...(hasSum ? [sequencePart("e", positions, places, "e"), sequencePart("X_{in}", input, queries)] : []),
    ];
    const isPicture = anatomy.at("patch_embedding.weight") !== undefined;
    const hasClass = anatomy.at("class_token") !== undefined;
    return {
      texts: hasSum ? "embedding" : "embedding_alone",
      picture: anatomy.at("pixels") !== undefined && stack !== "decoder.",
      table: table?.gradient,
      layout: { kind: "stack", parts: [...patchParts(anatomy), ...ofQuantity("stream", stream)] },
      forward: [
        ...(hasClass ? ["A [0] = c"] : []),
        isPicture ? "A [t] = W_E patch_t + b_E" : "A [t] = W_E [token_t]",
        ...(hasSum ? ["X_{in} = A + e"] : []),
      ],
      backward: [
        ...(hasSum ? ["dA = dX_{in}"] : []),
        ...(hasSum && anatomy.gradient(positions) !== undefined ? ["de = dX_{in}"] : []),
        ...(hasClass ? ["dc = dA [0]"] : []),
        isPicture ? "dW_E = Σ_t dA [t] patch_t^T" : (table?.rule ?? []),
      ].flat(),
    };
  },
};

// The table of tokens, {part, gradient, rule}, or null. Before an encoder it has the gradient of that use alone.
function tableOf(anatomy, stack, vocabulary) {
  const table = anatomy.at("token_embedding.weight");
  if (table === undefined) return null;
  const part = sequencePart("W_E", table, vocabulary, "w");
  const embedding = embeddingBehind(anatomy, anatomy.at(`${stack}embedded`));
  const shares = sharesOfUses(anatomy, table);
  const sum = "Σ_{t: token_t = v} dA [t]";
  if (stack === "encoder." && shares.length > 1) {
    const { value } = shares.find(({ op }) => op === embedding);
    const gradientPart = sharePart(anatomy, { symbol: "W_{E}", path: "enc", x: table, value, rowNames: vocabulary });
    return { part: { ...part, gradientPart }, gradient: gradientPart.symbol, rule: `${gradientPart.symbol} [v] = ${sum}` };
  }
  const others = shares.filter(({ op }) => op !== embedding);
  const further = others.map(({ op }) => (op.op === "linear" ? " + dW_{logits}^T [v]" : " + dW_{E,enc} [v]"));
  return { part, gradient: "dW_E", rule: `dW_E [v] = ${sum}${further.join("")}` };
}

// What makes vectors of a picture's patches, and the class token before these or before tokens.
function patchParts(anatomy) {
  const weight = anatomy.at("patch_embedding.weight");
  const parts = [
    sequencePart("W_E", weight, null, "w"),
    sequencePart("b_E", anatomy.at("patch_embedding.bias"), null, "w"),
    sequencePart("c", anatomy.at("class_token"), null, "w"),
  ];
  return parts.filter(({ value }) => value !== undefined);
}
