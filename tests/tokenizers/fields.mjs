// node fields.mjs TOKENIZERS QKV FOLDER TOKENIZER.json LINES: whether qkv does what each field of a tokenizer.json says as Hugging Face's
// tokenizers does it, or refuses the file by the name of the field. TOKENIZER.json: byte pairs that qkv has learned.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { differences } from "./tokens.mjs";

const [module, qkv, folder, tokenizerPath, linesPath] = process.argv.slice(2);
const { Tokenizer } = createRequire(import.meta.url)(module);

const good = () => JSON.parse(readFileSync(tokenizerPath, "utf8"));
const size = Object.keys(good().model.vocab).length;
const some = Object.keys(good().model.vocab).filter((text) => /^[a-z]{2,}$/.test(text)).at(-1);
const token = (id, content, more = {}) => ({
  ...{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
  ...more,
});
const end = "<|endoftext|>";
const adding = (...tokens) => (file) => (file.added_tokens = tokens);
const sequenceA = { Sequence: { id: "A", type_id: 0 } };
const template = (single) => ({
  type: "TemplateProcessing",
  single,
  pair: [sequenceA, { Sequence: { id: "B", type_id: 1 } }],
  special_tokens: { [end]: { id: end, ids: [0], tokens: [end] } },
});
const words = (file) => {
  file.model = { type: "WordLevel", vocab: file.model.vocab, unk_token: "!" };
};

// A change of the file, and the name by which it is refused; none: it is done.
const changes = [
  [() => {}],
  [(file) => (file.version = "2.0"), "version"],
  [(file) => (file.truncation = { direction: "Right", max_length: 3, strategy: "LongestFirst", stride: 0 }), "truncation"],
  [
    (file) =>
      (file.padding = {
        ...{ strategy: { Fixed: 40 }, direction: "Right", pad_to_multiple_of: null },
        ...{ pad_id: 0, pad_type_id: 0, pad_token: "!" },
      }),
    "padding",
  ],
  ...["Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Nmt"].map((type) => [
    (file) => (file.normalizer = { type }),
    "normalizer.type",
  ]),
  [(file) => (file.normalizer = { type: "Prepend", prepend: "x" }), "normalizer.type"],
  [(file) => (file.normalizer = { type: "Replace", pattern: { String: "a" }, content: "b" }), "normalizer.type"],
  [(file) => (file.normalizer = { type: "Strip", strip_left: true, strip_right: true }), "normalizer.type"],
  [(file) => (file.normalizer = { type: "Sequence", normalizers: [{ type: "NFC" }, { type: "Lowercase" }] }), "normalizer.type"],
  [(file) => (file.normalizer = { type: "Sequence", normalizers: [{ type: "NFC" }] }), "normalizer.type"],
  [(file) => (file.normalizer = { type: "Sequence", normalizers: [] }), "normalizer.type"],
  [(file) => (file.pre_tokenizer = null), "pre_tokenizer.type"],
  [(file) => (file.pre_tokenizer = { type: "Whitespace" }), "pre_tokenizer.type"],
  [(file) => (file.pre_tokenizer.add_prefix_space = true), "pre_tokenizer.add_prefix_space"],
  [(file) => (file.pre_tokenizer.use_regex = false), "pre_tokenizer.use_regex"],
  [(file) => delete file.pre_tokenizer.use_regex],
  [(file) => (file.pre_tokenizer.trim_offsets = false)],
  [(file) => (file.pre_tokenizer = { type: "Sequence", pretokenizers: [file.pre_tokenizer] }), "pre_tokenizer.type"],
  [
    (file) =>
      (file.pre_tokenizer = {
        type: "Sequence",
        pretokenizers: [{ type: "Digits", individual_digits: true }, file.pre_tokenizer],
      }),
    "pre_tokenizer.type",
  ],
  [(file) => (file.post_processor = { type: "ByteLevel", add_prefix_space: true, trim_offsets: false })],
  [(file) => (file.post_processor = template([sequenceA]))],
  [(file) => (file.post_processor = template([{ SpecialToken: { id: end, type_id: 0 } }, sequenceA])), "post_processor.single"],
  [
    (file) =>
      (file.post_processor = {
        ...{ type: "RobertaProcessing", sep: ["!", 0], cls: ["!", 0] },
        ...{ trim_offsets: true, add_prefix_space: false },
      }),
    "post_processor.type",
  ],
  [(file) => (file.decoder = null), "decoder.type"],
  [(file) => (file.decoder = { type: "Fuse" }), "decoder.type"],
  [(file) => delete file.model.type],
  [(file) => (file.model = { vocab: file.model.vocab, merges: file.model.merges })],
  [(file) => (file.model.merges = file.model.merges.map((merge) => merge.split(" ")))],
  [(file) => (file.model.dropout = 0.0)],
  [(file) => (file.model.dropout = 0.5), "model.dropout"],
  [(file) => (file.model.unk_token = "!")],
  [(file) => Object.assign(file.model, { unk_token: "!", fuse_unk: true, byte_fallback: true })],
  [(file) => Object.assign(file.model, { continuing_subword_prefix: "", end_of_word_suffix: "" })],
  [(file) => (file.model.end_of_word_suffix = "</w>"), "model.end_of_word_suffix"],
  [(file) => (file.model.ignore_merges = true), "model.ignore_merges"],
  [(file) => (file.model.merges = file.model.merges.slice(0, 100))],
  [(file) => (file.model.vocab.hole = size + 1), "model.vocab"],
  [words],
  [(file) => (words(file), delete file.model.type)],
  [adding(token(size, end))],
  [adding(token(size, end, { normalized: true, special: false }))],
  [adding(token(size + 1, end)), "added_tokens"],
  [adding(token(size, end), token(size + 1, "<|end"), token(size + 2, "of"), token(size + 3, "  "))],
  [adding(token(size, "text|>"), token(size + 1, end), token(size + 2, "of"), token(good().model.vocab.d, "d"))],
  [adding(token(size, "text|>"), token(size + 1, end, { normalized: true })), "added_tokens.1"],
  [adding(token(good().model.vocab[some], some, { normalized: true, special: false }))],
  [adding(token(size, "<｜é｜>"), token(size + 1, " \u3000"))],
  [(file) => ((file.model.vocab["<｜é｜>"] = size), adding(token(size, "<｜é｜>"))(file))],
  [(file) => (words(file), adding(token(size, end))(file))],
  [adding(token(size, end, { single_word: true })), "added_tokens.0.single_word"],
  [adding(token(size, end, { lstrip: true })), "added_tokens.0.lstrip"],
  [adding(token(size, end, { rstrip: true })), "added_tokens.0.rstrip"],
];

const parts = [end, "<|end", "text|>", "<｜é｜>", "  ", " \u3000", "of", "<", some];
const lines = readFileSync(linesPath, "utf8")
  .split("\n")
  .slice(0, 600)
  .map((line, i) => (i % 2 ? `${parts[i % 9]}${line}${parts[(i * 3) % 7]}${end} ${end}x` : line));
writeFileSync(`${folder}/fields.txt`, lines.join("\n"));
const path = `${folder}/fields.json`;
const command = ["data", `${folder}/lines.toml`, "--batches", "60", "--export", `${folder}/fields.safetensors`];
const settings = {
  ...{ tokens: "tokenizer", tokenizer: path, validation_path: `${folder}/fields.txt`, validation_examples: lines.length },
};
for (const [key, value] of Object.entries(settings)) command.push("--set", `data.${key}=${value}`);
command.push("--set", "train.batch_size=10");

let failures = 0;
const fail = (change, why) => (failures++, console.log(`${change}: ${why}`));
for (const [change, refused] of changes) {
  const file = good();
  change(file);
  writeFileSync(path, JSON.stringify(file));
  rmSync(`${folder}/fields.safetensors`, { force: true });
  let error = "";
  try {
    execFileSync(qkv, command, { stdio: ["ignore", "ignore", "pipe"] });
  } catch (failed) {
    error = failed.stderr.toString();
  }
  if (refused) {
    if (!error.includes(refused)) fail(change, error || `is not refused by the name ${refused}`);
  } else if (error) {
    fail(change, error);
  } else {
    const different = await differences(Tokenizer.fromFile(path), lines, `${folder}/fields.safetensors`);
    if (different.length > 0) fail(change, `${different.length} differences: ${different[0]}`);
  }
}
console.log(`${changes.length} files with other fields: ${failures} are neither done nor refused`);
if (failures > 0) process.exitCode = 1;
