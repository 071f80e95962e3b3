// The vectors of tokens or patches, and what is added for their positions.
import { ofQuantity, sequencePart } from "./parts.js";
import { areEqual } from "../lesson/premises.js";

export const embeddingChapter = {
  id: "embedding",
  group: "input",
  questions: [
    { key: "embedding.same_gradient", holds: (lesson) => areEqual(lesson, "dA", "de") },
    { key: "embedding.zero_rows", holds: ({ anatomy }) => anatomy.at("token_embedding.weight") !== undefined },
  ],
  step: embeddingStep,
};

function embeddingStep({ anatomy, layer, queries, vocabulary }) {
  const embedded = anatomy.at(`${layer.stack}embedded`);
  const input = anatomy.at(`${layer.stack}blocks.0.input`);
  const positions = anatomy.at(`${layer.stack}positions`);
  if (embedded === undefined) return null;
  const parts = [sequencePart("A", embedded, queries)];
  const hasSum = positions !== undefined && input !== undefined && input !== embedded;
  if (hasSum) {
    parts.push(
      sequencePart(
        "e",
        positions,
        queries.map((_, i) => String(i)),
        "e",
      ),
    );
    parts.push(sequencePart("X_{in}", input, queries));
  }
  const table = anatomy.at("token_embedding.weight");
  if (table !== undefined) parts.unshift(sequencePart("W_E", table, vocabulary, "w"));
  const made = [...patchParts(anatomy), ...ofQuantity("stream", parts)];
  const [image, classToken] = ["patch_embedding.weight", "class_token"].map((name) => anatomy.at(name));
  const first = classToken === undefined ? [] : ["A_0 = c"];
  const tokens = image === undefined ? "A_t = W_E [token_t]" : "A_t = W_E patch_t + b_E";
  return {
    picture: anatomy.at("pixels") !== undefined && layer.stack !== "decoder.",
    layout: { kind: "stack", parts: made },
    forward: [...first, tokens, ...(hasSum ? ["X_{in} = A + e"] : [])].join(", "),
    backward: [
      ...(hasSum ? ["dA = dX_{in}", "de = dX_{in}"] : []),
      ...(classToken === undefined ? [] : ["dc = dA_0"]),
      image === undefined ? "dW_E [v] = Σ_{t: token_t = v} dA_t" : "dW_E = Σ_t dA_t patch_t^T",
    ],
  };
}

// What makes vectors of a picture's patches, and the class token before these or before tokens.
function patchParts(anatomy) {
  const weight = anatomy.at("patch_embedding.weight");
  const rows = [
    ["b_E", anatomy.at("patch_embedding.bias")],
    ["c", anatomy.at("class_token")],
  ];
  const isThere = ({ value }) => value !== undefined;
  const vectors = rows.map(([symbol, value]) => ({ symbol, value, look: "rows", family: "w" }));
  return [sequencePart("W_E", weight, null, "w"), ...vectors].filter(isThere);
}
