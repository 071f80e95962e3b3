// A number typed over the one that is there: what comes after it follows.
import { buttonElement, followPointer, sectionElement } from "../frame/elements.js";
import { element } from "../../../report/page/dom.js";
import { beforeNextFrame } from "../frame/next_frame.js";
import { fullNumber } from "../ops/numbers.js";
import { say } from "../texts/say.js";

export function editorOf(app, matrix, row, column) {
  if (matrix.derived || matrix.isGradient) return null;
  const { lesson } = app;
  const index = matrix.index(row, column);
  const number = matrix.number(row, column);
  if (!Number.isFinite(number)) return null;
  const edit = (wanted) => app.edit([{ value: matrix.value, index, number: wanted }]);
  const input = element("input", {
    type: "number",
    step: "any",
    id: "cell-edit",
    value: fullNumber(number).replace("−", "-"),
  });
  const put = (event) => {
    event.preventDefault();
    if (Number.isFinite(input.valueAsNumber)) edit(input.valueAsNumber);
  };
  const handle = buttonElement("↕", null, {
    class: "drag",
    title: say("edit.drag"),
    "aria-label": say("edit.drag"),
    on: {
      pointerdown: (event) => dragNumber(event, { number, size: matrix.size, root: app.root, edit }),
      keydown: (event) => {
        const steps = { ArrowUp: 1, ArrowDown: -1 }[event.key];
        if (!steps) return;
        event.preventDefault();
        edit(moved(number, steps, matrix.size));
        /** @type {HTMLElement} */ (document.querySelector(".edit .drag"))?.focus();
      },
    },
  });
  const isEdited = lesson.state.edits?.some((e) => e.value === matrix.value && e.index === index);
  return sectionElement(
    "edit",
    say("edit.title"),
    element(
      "form",
      { on: { submit: put } },
      element("label", { for: "cell-edit", class: "unseen", text: say("edit.new_number") }),
      input,
      handle,
      element("button", { type: "submit", text: say("edit.put_in") }),
      isEdited ? buttonElement(say("edit.undo"), () => edit(undefined)) : null,
    ),
  );
}

const stepsOfSize = 50;

// So many steps of a fiftieth of the largest number of the matrix, in round numbers.
function moved(number, steps, size) {
  return Number((number + (steps * (size || 1)) / stepsOfSize).toPrecision(6));
}

// As long as the pointer is down, the number follows it, and everything after the number.
function dragNumber(event, { number, size, root, edit }) {
  event.preventDefault();
  const from = event.clientY;
  let wanted = number;
  const put = () => edit(wanted);
  const follow = (moveEvent) => {
    wanted = moved(number, Math.round((from - moveEvent.clientY) / 4), size);
    beforeNextFrame(root, put);
  };
  followPointer(follow);
}
