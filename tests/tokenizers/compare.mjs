// node compare.mjs TOKENIZERS TOKENIZER.json LINES TOKENS.safetensors: whether Hugging Face's tokenizers gives each line the tokens that
// qkv has given it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { differences } from "./tokens.mjs";

const [module, tokenizerPath, linesPath, tensorsPath] = process.argv.slice(2);
const { Tokenizer } = createRequire(import.meta.url)(module);

const lines = readFileSync(linesPath, "utf8").split("\n").filter((line) => line !== "");
const different = await differences(Tokenizer.fromFile(tokenizerPath), lines, tensorsPath);
for (const each of different.slice(0, 3)) console.log(`different: ${each}`);
console.log(`${tokenizerPath}: ${lines.length} lines, ${different.length} differences`);
if (different.length > 0 || lines.length !== 10000) process.exitCode = 1;
