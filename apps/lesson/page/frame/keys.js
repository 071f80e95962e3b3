// What keys do: a dialog that ? opens.
import { buttonElement } from "./elements.js";
import { element } from "../../../report/page/dom.js";
import { say } from "../texts/say.js";

const keys = [
  ["n ]", "keys.next"],
  ["p [", "keys.back"],
  ["Tab", "keys.tab"],
  ["← ↑ → ↓", "keys.arrows"],
  ["PageDown → ␣", "keys.stage_next"],
  ["PageUp ←", "keys.stage_back"],
  ["Home End", "keys.stage_ends"],
  ["Esc", "keys.leave"],
  ["?", "keys.this"],
];

export function showKeys() {
  const close = buttonElement(say("page.close"), () => dialog.close());
  const dialog = element(
    "dialog",
    { class: "keys", "aria-label": say("keys.title") },
    element("h2", { text: say("keys.title") }),
    element(
      "dl",
      {},
      keys.flatMap(([key, what]) => [
        element("dt", {}, key.split(" ").map((each) => element("kbd", { text: each }))),
        element("dd", { text: say(what) }),
      ]),
    ),
    close,
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.getElementById("lesson").append(dialog);
  dialog.showModal();
}
