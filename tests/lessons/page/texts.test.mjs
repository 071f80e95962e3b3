import assert from "node:assert/strict";
import test from "node:test";
import { chapterTexts } from "../../../lessons/explain/page/chapters/list.js";
import { cellTexts } from "../../../lessons/explain/page/texts/cell.js";
import { glossary, symbolTexts } from "../../../lessons/explain/page/texts/glossary.js";
import { graphTexts } from "../../../lessons/explain/page/texts/graph.js";
import { wordTexts } from "../../../lessons/explain/page/texts/say.js";
import { pageTexts } from "../../../lessons/explain/page/texts/words.js";

const needed = ["name", "what", "why"];
const placesIn = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

function isInBothLanguages(key, texts) {
  assert.equal(texts?.length, 2, `${key}: [English, 中文]`);
  const [english, chinese] = texts;
  for (const text of texts) assert.ok(text.trim().length > 0, `${key}: an empty text`);
  assert.ok(!/[\u4e00-\u9fff]/.test(english), `${key}: English has Chinese in it`);
  assert.deepEqual(placesIn(chinese), placesIn(english), `${key}: the places of values`);
  const isSentence = /[a-z]{3}.* .*[a-z]{3}/.test(english.replace(/\{\w+\}|d?logits/g, ""));
  assert.ok(!isSentence || /[\u4e00-\u9fff]/.test(chinese), `${key}: the Chinese has no Chinese in it`);
}

test("every word of the page is there in both languages", () => {
  assert.ok(Object.keys(wordTexts).length > 100);
  for (const [key, texts] of Object.entries(wordTexts)) isInBothLanguages(key, texts);
});

test("no word is there twice", () => {
  const keys = [pageTexts, cellTexts, graphTexts].flatMap(Object.keys);
  assert.equal(keys.length, new Set(keys).size);
});

test("every word and symbol of the glossary is explained in both languages", () => {
  for (const { word, text } of glossary) isInBothLanguages(word[0], text);
  for (const [symbol, text] of Object.entries(symbolTexts)) isInBothLanguages(symbol, text);
});

test("every chapter says what it is in both languages", () => {
  assert.ok(chapterTexts().length > 20);
  for (const { id, texts } of chapterTexts()) {
    for (const name of needed) assert.ok(texts[name], `${id} has no ${name}`);
    const { questions = [], ...others } = texts;
    assert.deepEqual(Object.keys(others).sort(), [...needed].sort(), `${id}: what the page shows`);
    for (const name of needed) isInBothLanguages(`${id}.${name}`, texts[name]);
    for (const { ask, answer } of questions) {
      isInBothLanguages(`${id}: a question`, ask);
      isInBothLanguages(`${id}: its answer`, answer);
    }
  }
});
