// What the rows and columns of matrices stand for: tokens, patches of a picture, features.

const shown = new Map([
  [" ", "␣"],
  ["\n", "⏎"],
  ["\t", "⇥"],
  ["", "∅"],
]);

export function tokenText(text) {
  if (text === null || text === undefined) return "–";
  return shown.get(text) ?? text.replaceAll("\n", "⏎");
}

const classToken = "[class]";

// Names of the `rows` of a sequence: the tokens of this stack ("", "encoder.", "decoder."), after
// the class token where there is one more row.
export function sequenceNames(document, anatomy, { stack, rows }) {
  const { tokens, source, target } = document.meta.texts ?? {};
  const own = stack === "encoder." ? source : stack === "decoder." ? target : tokens;
  if (own) {
    const names = own.map(tokenText);
    return rows > names.length ? [classToken, ...names] : names;
  }
  const grid = patchGrid(anatomy);
  if (!grid) return [];
  const { side, classTokens } = grid;
  const patches = Array.from({ length: side * side }, (_, i) => `${Math.floor(i / side)},${i % side}`);
  return classTokens ? [classToken, ...patches] : patches;
}

// How many patches are beside each other, and the class tokens before them; null without a picture.
export function patchGrid(anatomy) {
  const pixels = anatomy.at("pixels");
  const embedded = anatomy.at("embedded");
  if (pixels === undefined || embedded === undefined) return null;
  const classTokens = anatomy.at("class_token") === undefined ? 0 : 1;
  const side = Math.round(Math.sqrt(anatomy.shape(embedded)[1] - classTokens));
  return { pixels, classTokens, side };
}

export function vocabularyNames(document) {
  return (document.meta.vocabulary ?? []).map(tokenText);
}

// Of what the logits are for: tokens, or classes with names of their own.
export const answerNames = (document) => document.meta.answers ?? vocabularyNames(document);

// The constant by which the embedding of this stack picks its rows.
export function indexOfTokens({ anatomy, layer }) {
  const embedded = anatomy.at(`${layer.stack}embedded`);
  const index = embedded === undefined ? undefined : embeddingBehind(anatomy, embedded)?.attributes.index?.value;
  if (index === undefined) return undefined;
  return anatomy.program.makers[index]?.inputs[0] ?? index;
}

// What makes vectors of tokens or of patches. A class token may stand before them.
export function embeddingBehind(anatomy, value) {
  const op = anatomy.maker(value);
  const made = op?.op === "concat" ? op.inputs.map((input) => anatomy.maker(input)) : [op];
  return made.find((each) => ["embedding", "linear"].includes(each?.op)) ?? null;
}
