// The left of the page: seven chapters; the steps of the one that is open are listed below its name.
import { buttonElement } from "./elements.js";
import { element } from "../../../report/page/dom.js";
import { languageNow, say, stepText } from "../texts/say.js";

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
  const { step, state } = app.lesson;
  const { root, links } = app.kept.get("chapters", [step, state.route, languageNow()], () => listNow(app));
  for (const [link, id] of links) link.setAttribute("href", app.addressOf({ step: id, cell: null }));
  return root;
}

// {root, links: [[link, step to which it leads]]}
function listNow(app) {
  const inOrder = chaptersInOrder(app.lesson);
  const links = [];
  const linkTo = (step, properties) => {
    const link = element("a", properties);
    links.push([link, step.id]);
    return link;
  };
  const root = element(
    "div",
    { class: "chapter-list" },
    routeButtons(app),
    element("ol", { class: "chapter-names" }, inOrder.map((each) => chapter(app.lesson.step, each, linkTo))),
    select(app, inOrder),
  );
  return { root, links };
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

function chapter(now, { group, steps }, linkTo) {
  const isOpen = steps.includes(now);
  const item = (step) =>
    element("li", {}, linkTo(step, { "aria-current": step === now ? "step" : null, text: stepText(step).name }));
  return element(
    "li",
    { class: isOpen ? "open" : null },
    linkTo(steps[0], { class: "chapter-name", text: say(`group.${group}`) }),
    isOpen ? element("ol", {}, steps.map(item)) : null,
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
