// The first thirty seconds: the model guesses, its error is shared out, and it learns. Everything shown is of the tape.
import { buttonElement } from "../../frame/elements.js";
import { learningOf } from "../../frame/learning.js";
import { guessedBy, guessOf, numbersOf } from "../../lesson/guess.js";
import { tokenText } from "../../lesson/sequences.js";
import { textsNow } from "../../lesson/prompt.js";
import { shortNumber } from "../../ops/numbers.js";
import { say } from "../../texts/say.js";
import { element } from "../../../../report/page/dom.js";
import { pictureOf } from "../picture.js";
import { barsOf, percent, signed } from "./bars.js";
import { tubesOf } from "./tubes.js";

const scenes = ["guess", "error", "tubes", "pipe", "learn"];
const seconds = { guess: 4, error: 5, tubes: 7, pipe: 6 };
const mostTokens = 12;

export const openingChapter = {
  id: "opening",
  choosesLayer: true,
  step({ anatomy, document: { meta } }) {
    const guess = meta.part ? null : guessedBy(anatomy);
    if (!guess) return null;
    const ofText = guess.guesses > 1 ? "continues" : "sorts";
    const does = meta.texts?.source ? "translates" : anatomy.at("pixels") === undefined ? ofText : "sees";
    return { why: `opening.why_${does}` };
  },
  view(app) {
    const guess = guessOf(app.lesson);
    return guess && openingOf(app, guess);
  },
};

function openingOf(app, guess) {
  const { lesson } = app;
  const first = numbersOf(lesson.start.tape, guess);
  const bars = barsOf(app, guess, first);
  const tubes = tubesOf(app, guess, first);
  const said = element("p", { class: "opening-said", role: "status" });
  const learning = learningOf(app, (isRunning) => {
    root.classList.toggle("running", isRunning);
    draw();
  });
  const draw = () => {
    const now = numbersOf(lesson.rightTape, guess);
    bars.show(now);
    tubes.show(now, sceneNow());
    said.textContent = textOfScene(lesson, guess, first, now, sceneNow());
  };

  const sceneNow = () => root.dataset.scene;
  let timer = 0;
  const goTo = (scene) => {
    clearTimeout(timer);
    root.dataset.scene = scene;
    const at = scenes.indexOf(scene);
    back.disabled = at === 0;
    next.hidden = at === scenes.length - 1;
    learning.root.hidden = !next.hidden;
    draw();
  };
  const chosen = (scene) => {
    goTo(scene);
    app.note({ scene });
  };
  const beside = (by) => scenes[scenes.indexOf(sceneNow()) + by];
  const play = () => {
    if (!(sceneNow() in seconds)) return;
    timer = setTimeout(() => {
      if (!root.isConnected) return;
      chosen(beside(1));
      play();
    }, 1000 * seconds[sceneNow()]);
  };
  const back = buttonElement(`← ${say("step.back")}`, () => chosen(beside(-1)));
  const next = buttonElement(`${say("step.next")} →`, () => chosen(beside(1)), { class: "opening-next" });
  const again = buttonElement(`▶ ${say("opening.play")}`, () => {
    learning.run(false);
    app.learn(0);
    chosen(scenes[0]);
    play();
  });
  const root = element(
    "div",
    { class: "opening" },
    readOf(app, guess),
    said,
    element("div", { class: "opening-moves" }, back, next, again),
    element("div", { class: "opening-board" }, tubes.root, element("p", { class: "opening-way", text: say("opening.way") }), bars.root),
    learning.root,
  );
  const { state } = lesson;
  const scene = scenes.includes(state.scene) ? state.scene : lesson.learning.steps > 0 ? "learn" : null;
  goTo(scene ?? scenes[0]);
  // It plays by itself for who did not ask for a scene of it, and likes things to move.
  if (!scene && !matchMedia("(prefers-reduced-motion: reduce)").matches) play();
  return root;
}

// What the model has read, a blank, and what belongs there.
function readOf(app, { row, guesses, names, target, path }) {
  const texts = textsNow(app.lesson);
  const own = path.startsWith("decoder.") ? texts.target : texts.tokens;
  const token = (text) => element("kbd", { text: tokenText(text) });
  const few = (tokens) => [...(tokens.length > mostTokens ? ["… "] : []), ...tokens.slice(-mostTokens).map(token)];
  return element(
    "div",
    { class: "opening-read" },
    pictureOf(app),
    element(
      "p",
      {},
      texts.source ? [...texts.source.map(token), " → "] : [],
      own ? few(guesses > 1 ? own.slice(0, row + 1) : own) : [],
      element("kbd", { class: "blank", text: "?" }),
      element("span", { class: "from-error" }, `${say("opening.should_be")} `, element("kbd", { class: "right", text: names[target] })),
    ),
  );
}

function textOfScene(lesson, { names, target, query, keys }, first, now, scene) {
  const { p, shares, wishes, moves } = now;
  const most = p.indexOf(Math.max(...p));
  const mean = shares.reduce((sum, share, j) => sum + (share > 0 ? share * wishes[j] : 0), 0);
  const best = first.moves.indexOf(Math.max(...first.moves));
  const told = scene === "learn" && lesson.learning.steps > 0 ? "learned" : scene;
  return say(`opening.${told}`, {
    most: names[most],
    percent: percent(p[most]),
    right: names[target],
    missing: shortNumber(now.missing[target]),
    before: percent(first.p[target]),
    after: percent(p[target]),
    query,
    mean: shortNumber(mean),
    key: keys[best] ?? best,
    move: signed(moves[best]),
    share_before: shortNumber(first.shares[best]),
    share: shortNumber(shares[best]),
    steps: lesson.learning.steps,
  });
}
