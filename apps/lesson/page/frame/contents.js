// The left of the page: seven chapters; the steps of the one that is open are listed below its name.
import { buttonElement } from "./elements.js";
import { element } from "../../../report/page/dom.js";
import { say, stepText } from "../texts/say.js";

const chaptersOfModel = ["input", "projections", "weights", "output", "prediction"];
const chaptersForward = ["model", ...chaptersOfModel, "more"];
const chaptersBack = ["model", ...chaptersOfModel.toReversed(), "more"];

// Whether a step computes something of the model, and so has a place on the way from tokens to loss.
export const isOfModel = ({ group }) => chaptersOfModel.includes(group);

// [{group, steps}] in the order of the route.
function chaptersInOrder({ chapters, state }) {
  const isBack = state.route === "back";
  return (isBack ? chaptersBack : chaptersForward)
    .map((group) => {
      const steps = chapters.steps.filter((step) => step.group === group);
      return { group, steps: isBack && chaptersOfModel.includes(group) ? steps.reverse() : steps };
    })
    .filter(({ steps }) => steps.length > 0);
}

export function chapterList(app) {
  const inOrder = chaptersInOrder(app.lesson);
  return element(
    "div",
    { class: "chapter-list" },
    routeButtons(app),
    element("ol", { class: "chapter-names" }, inOrder.map((each) => chapter(app, each))),
    select(app, inOrder),
  );
}

// Forward from the tokens, or back from the loss.
function routeButtons(app) {
  const { state, step } = app.lesson;
  const isBack = state.route === "back";
  const button = (route, key) =>
    buttonElement(
      say(key),
      () => app.go({ route, ...(route && !isOfModel(step) ? { step: "loss", cell: null } : {}) }),
      { "aria-pressed": String(isBack === (route === "back")) },
    );
  return element(
    "div",
    { class: "routes", role: "group", "aria-label": say("route.title") },
    button(null, "route.forward"),
    button("back", "route.back"),
  );
}

function chapter(app, { group, steps }) {
  const isOpen = steps.includes(app.lesson.step);
  const link = (step, text) =>
    element("a", {
      href: app.addressOf({ step: step.id, cell: null }),
      "aria-current": step === app.lesson.step ? "step" : null,
      text,
    });
  return element(
    "li",
    { class: isOpen ? "open" : null },
    element("a", {
      class: "chapter-name",
      href: app.addressOf({ step: steps[0].id, cell: null }),
      text: say(`group.${group}`),
    }),
    isOpen ? element("ol", {}, steps.map((step) => element("li", {}, link(step, stepText(step).name)))) : null,
  );
}

// On a narrow page.
function select(app, inOrder) {
  const option = (step) =>
    element("option", {
      value: step.id,
      selected: step === app.lesson.step,
      text: stepText(step).name,
    });
  return element(
    "select",
    {
      class: "chapter-select",
      "aria-label": say("page.chapters"),
      on: { change: (event) => app.go({ step: event.target.value, cell: null }) },
    },
    inOrder.map(({ group, steps }) =>
      element("optgroup", { label: say(`group.${group}`) }, steps.map(option)),
    ),
  );
}

export const stepsInOrder = (lesson) => chaptersInOrder(lesson).flatMap(({ steps }) => steps);

// The step before and the one after, in the order of the list.
export function neighbours(lesson) {
  const inOrder = stepsInOrder(lesson);
  const at = inOrder.indexOf(lesson.step);
  return { back: inOrder[at - 1] ?? null, next: inOrder[at + 1] ?? null };
}
