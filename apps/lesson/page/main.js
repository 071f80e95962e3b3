// The page: reads the document, computes everything again, compares, and shows.
import { App } from "./frame/app.js";
import { element } from "../../report/page/dom.js";
import { Lesson } from "./lesson/lesson.js";
import { shortNumber, unpacked } from "./ops/numbers.js";
import { serveSteps } from "./tape/learner.js";
import { Tape } from "./tape/tape.js";
import { say, useLanguage } from "./texts/say.js";
import { useTexts } from "../../report/texts/texts.js";
import { readAddress } from "./lesson/address.js";

const mostDifference = 1e-12;

const partOfPage = async (id) => JSON.parse(await unpacked(document.getElementById(id).textContent));

async function start() {
  const root = document.getElementById("lesson");
  const [texts, given] = await Promise.all(["texts", "document"].map(partOfPage));
  useTexts(texts);
  const address = readAddress(location.hash);
  useLanguage(address.lang ?? (root.dataset.language || (navigator.language?.startsWith("zh") ? "zh" : "en")));
  const tape = new Tape(given).run();
  const found = tape.difference();
  if (!(found.difference <= mostDifference)) {
    const difference = shortNumber(found.difference);
    const text = say("page.refused", { difference, name: tape.name(found.value) });
    root.replaceChildren(element("p", { class: "refused", role: "alert", text }));
    return;
  }
  const lesson = new Lesson(given, tape);
  if (lesson.layers.length === 0) {
    root.replaceChildren(element("p", { class: "refused", role: "alert", text: say("page.no_layers") }));
    return;
  }
  const app = new App(root, lesson, found);
  Object.assign(root, { app }); // for who looks at the page from its console, as tests do
  app.open(address);
  app.loadForms(document.getElementById("variants")?.textContent ?? "");
}

if (typeof document === "undefined") serveSteps();
else start();
