// The page: reads the document, computes everything again, compares, and shows.
import { App } from "./app.js";
import { element } from "./dom.js";
import { Lesson } from "./lesson.js";
import { shortNumber } from "./numbers.js";
import { Tape } from "./tape.js";
import { say, useLanguage } from "./texts.js";
import { unpacked } from "./unpacked.js";
import { readAddress } from "./address.js";

const mostDifference = 1e-12;

async function start() {
  const root = document.getElementById("lesson");
  const given = JSON.parse(await unpacked(document.getElementById("document").textContent));
  const address = readAddress(location.hash);
  useLanguage(address.lang ?? (navigator.language?.startsWith("zh") ? "zh" : "en"));
  const tape = new Tape(given).run();
  const found = tape.difference();
  if (!(found.difference <= mostDifference)) {
    const difference = shortNumber(found.difference);
    const text = say("refused", { difference, name: tape.name(found.value) });
    root.replaceChildren(element("p", { class: "refused", role: "alert", text }));
    return;
  }
  const lesson = new Lesson(given, tape);
  if (lesson.layers.length === 0) {
    root.replaceChildren(element("p", { class: "refused", role: "alert", text: say("no_layers") }));
    return;
  }
  root.app = new App(root, lesson, found);
  root.app.open(address);
  root.app.loadForms(document.getElementById("variants")?.textContent ?? "");
}

start();
