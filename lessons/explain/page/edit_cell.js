// A number typed over the one that is there: what comes after it follows.
import { element } from "./dom.js";
import { fullNumber } from "./numbers.js";
import { say } from "./texts.js";

export function editorOf(app, matrix, row, column) {
  if (matrix.derived || matrix.isGradient) return null;
  const { lesson } = app;
  const index = matrix.index(row, column);
  const number = matrix.number(row, column);
  if (!Number.isFinite(number)) return null;
  const input = element("input", {
    type: "number",
    step: "any",
    id: "cell-edit",
    value: fullNumber(number).replace("−", "-"),
  });
  const put = (event) => {
    event.preventDefault();
    if (Number.isFinite(input.valueAsNumber)) app.edit(matrix.value, index, input.valueAsNumber);
  };
  const isEdited = lesson.state.edits?.some((e) => e.value === matrix.value && e.index === index);
  return element(
    "section",
    { class: "edit", "aria-label": say("edit") },
    element("h3", { text: say("edit") }),
    element(
      "form",
      { on: { submit: put } },
      element("label", { for: "cell-edit", class: "unseen", text: say("new_number") }),
      input,
      element("button", { type: "submit", text: say("put_in") }),
      isEdited &&
        element("button", {
          type: "button",
          text: say("undo"),
          on: { click: () => app.undoEdit(matrix.value, index) },
        }) || null,
    ),
  );
}
