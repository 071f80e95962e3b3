// What the tests with Hugging Face's tokenizers share.
import { readFileSync } from "node:fs";

function readTensors(path) {
  const file = readFileSync(path);
  const start = 8 + Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.subarray(8, start).toString());
  return new Map(
    Object.entries(header)
      .filter(([name]) => name !== "__metadata__")
      .map(([name, { shape, data_offsets: [begin, end] }]) => {
        const bytes = new Uint8Array(file.subarray(start + begin, start + end));
        return [name, { shape, numbers: new BigInt64Array(bytes.buffer) }];
      }),
  );
}

function rowsOf(tensors) {
  const rows = [];
  for (let n = 0; tensors.has(`inputs.${n}`); n++) {
    const inputs = tensors.get(`inputs.${n}`);
    const targets = tensors.get(`targets.${n}`).numbers;
    const length = inputs.shape[1];
    for (let i = 0; i < inputs.numbers.length; i += length) {
      const counted = targets.subarray(i, i + length).filter((token) => token >= 0);
      rows.push([inputs.numbers[i], ...counted].join(" "));
    }
  }
  return rows;
}

// The lines whose tokens are not among those that `qkv data --export` wrote. A row has a line between two line ends, in
// any order of lines; a row that no line has counts as well.
export async function differences(tokenizer, lines, tensorsPath) {
  const tokensOf = async (text) => (await tokenizer.encode(text, null, { addSpecialTokens: false })).getIds();
  const lineEnd = await tokensOf("\n");
  const given = new Map(); // how often each row is there: unknown words make lines equal
  for (const row of rowsOf(readTensors(tensorsPath))) given.set(row, (given.get(row) ?? 0) + 1);
  const different = [];
  for (const line of lines) {
    const tokens = [...lineEnd, ...(await tokensOf(line)), ...lineEnd].join(" ");
    const left = given.get(tokens) ?? 0;
    given.set(tokens, left - 1);
    if (left < 1) different.push(`${JSON.stringify(line)}: ${tokens}`);
  }
  for (const [row, left] of given) if (left > 0) different.push(`no line has the row ${row}`);
  return different;
}
