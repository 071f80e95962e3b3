// The left of the page: the chapters, by groups, with the one that is open marked.
import { element } from "./dom.js";
import { say, stepText } from "../texts/say.js";

const groups = ["overview", "before", "attention", "after", "more"];
const groupsBack = ["overview", "after", "attention", "before", "more"];
const groupsOfModel = ["before", "attention", "after"];

// [{group, steps}] in the order of the route.
function groupsInOrder({ chapters, state }) {
  const isBack = state.route === "back";
  return (isBack ? groupsBack : groups)
    .map((group) => {
      const steps = chapters.steps.filter((step) => step.group === group);
      return { group, steps: isBack && groupsOfModel.includes(group) ? steps.reverse() : steps };
    })
    .filter(({ steps }) => steps.length > 0);
}

export function chapterList(app) {
  const { lesson } = app;
  const inGroups = groupsInOrder(lesson);
  const lists = inGroups.flatMap(({ group, steps }) => [
    element("h2", { text: say(group) }),
    element(
      "ol",
      {},
      steps.map((step) => item(app, step)),
    ),
  ]);
  const inOrder = inGroups.flatMap(({ steps }) => steps);
  return element(
    "details",
    { class: "chapter-list", open: true },
    element("summary", { text: say("chapters") }),
    routeButtons(app),
    lists,
    select(app, inOrder),
  );
}

// Forward from the tokens, or back from the loss.
function routeButtons(app) {
  const isBack = app.lesson.state.route === "back";
  const isOfModel = groupsOfModel.includes(app.lesson.step.group);
  const button = (route, key) =>
    element("button", {
      type: "button",
      "aria-pressed": String(isBack === (route === "back")),
      text: say(key),
      on: { click: () => app.go({ route, ...(route && !isOfModel ? { step: "loss", cell: null } : {}) }) },
    });
  return element(
    "div",
    { class: "routes", role: "group", "aria-label": say("route") },
    button(null, "route_forward"),
    button("back", "route_back"),
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
export function neighbours(lesson) {
  const inOrder = groupsInOrder(lesson).flatMap(({ steps }) => steps);
  const at = inOrder.indexOf(lesson.step);
  return { back: inOrder[at - 1] ?? null, next: inOrder[at + 1] ?? null };
}
