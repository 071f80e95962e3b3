// The left of the page: the chapters, by groups, with the one that is open marked.
import { element } from "./dom.js";
import { say, stepText } from "../texts/say.js";

const groups = ["overview", "before", "attention", "after", "more"];

export function chapterList(app) {
  const { lesson } = app;
  const { steps } = lesson.chapters;
  const lists = groups.flatMap((group) => {
    const own = steps.filter((step) => step.group === group);
    if (own.length === 0) return [];
    return [
      element("h2", { text: say(group) }),
      element(
        "ol",
        {},
        own.map((step) => item(app, step)),
      ),
    ];
  });
  const inOrder = groups.flatMap((group) => steps.filter((step) => step.group === group));
  return element(
    "details",
    { class: "chapter-list", open: true },
    element("summary", { text: say("chapters") }),
    lists,
    select(app, inOrder),
  );
}

function item(app, step) {
  const isOpen = step === app.lesson.step;
  return element(
    "li",
    {},
    element("a", {
      href: app.addressOf({ step: step.id, cell: null }),
      "aria-current": isOpen ? "step" : null,
      text: stepText(step).name,
    }),
  );
}

// On a narrow page.
function select(app, steps) {
  const options = steps.map((step) =>
    element("option", {
      value: step.id,
      selected: step === app.lesson.step,
      text: stepText(step).name,
    }),
  );
  return element(
    "select",
    {
      class: "chapter-select",
      "aria-label": say("chapters"),
      on: { change: (event) => app.go({ step: event.target.value, cell: null }) },
    },
    options,
  );
}

// The step before and the one after, in the order of the list.
export function neighbours({ chapters, step }) {
  const inOrder = groups.flatMap((group) => chapters.steps.filter((each) => each.group === group));
  const at = inOrder.indexOf(step);
  return { back: inOrder[at - 1] ?? null, next: inOrder[at + 1] ?? null };
}
