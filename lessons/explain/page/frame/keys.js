// What keys do: a dialog that ? opens.
import { element } from "./dom.js";
import { say } from "../texts/say.js";

const keys = [
  ["n ]", "keys_next"],
  ["p [", "keys_back"],
  ["Tab", "keys_tab"],
  ["← ↑ → ↓", "keys_arrows"],
  ["PageDown → ␣", "keys_stage_next"],
  ["PageUp ←", "keys_stage_back"],
  ["Home End", "keys_stage_ends"],
  ["Esc", "keys_leave"],
  ["?", "keys_this"],
];

export function showKeys() {
  const close = element("button", { type: "button", text: say("close") });
  const dialog = element(
    "dialog",
    { class: "keys", "aria-label": say("keys") },
    element("h2", { text: say("keys") }),
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
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.getElementById("lesson").append(dialog);
  dialog.showModal();
}
