// The tokens in their order: dragged, or moved with the arrow keys, they change places.
import { element } from "../../../report/page/dom.js";
import { say } from "../texts/say.js";
import { indexOfTokens, tokenText } from "../lesson/sequences.js";

export function tokenStrip(app) {
  const { lesson } = app;
  const index = indexOfTokens(lesson);
  if (index === undefined) return null;
  const { vocabulary } = lesson.document.meta;
  const tokens = [...lesson.tape.values[index].data];
  const order = lesson.state.order ?? tokens.map((_, i) => i);
  const buttons = tokens.map((token, i) =>
    tokenButton(app, order, i, tokenText(vocabulary[token])),
  );
  return element(
    "div",
    { class: "token-strip", role: "group", "aria-label": say("tokens.strip") },
    element("span", { class: "strip-name", text: say("tokens.order") }),
    buttons,
  );
}

function tokenButton(app, order, at, text) {
  const moveTo = (to) => {
    if (to < 0 || to >= order.length || to === at) return;
    const moved = order.filter((_, i) => i !== at);
    moved.splice(to, 0, order[at]);
    const isAsWritten = moved.every((from, i) => from === i);
    app.go({ order: isAsWritten ? null : moved }, { replace: true });
    const buttons = document.querySelectorAll(".token-strip button");
    /** @type {HTMLElement} */ (buttons[to])?.focus();
  };
  return element("button", {
    type: "button",
    draggable: "true",
    class: order[at] === at ? null : "moved",
    "aria-label": say("tokens.at", { text, at }),
    text,
    on: {
      keydown: (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step) return;
        event.preventDefault();
        moveTo(at + step);
      },
      dragstart: (event) => event.dataTransfer.setData("text/plain", String(at)),
      dragover: (event) => event.preventDefault(),
      drop: (event) => {
        event.preventDefault();
        const from = Number(event.dataTransfer.getData("text/plain"));
        const others = event.currentTarget.parentElement.querySelectorAll("button");
        others[from]?.dispatchEvent(new CustomEvent("moveto", { detail: at }));
      },
      moveto: (event) => moveTo(event.detail),
    },
  });
}
