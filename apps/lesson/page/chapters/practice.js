// A model that knows nothing learns, before the reader's eyes: what each token looks at, what it answers.
import { buttonElement, sectionElement, selectElement } from "../frame/elements.js";
import { learningOf } from "../frame/learning.js";
import { answersNow, commandOf, isAnswer, questionsOf } from "../lesson/practice.js";
import { tokenText } from "../lesson/sequences.js";
import { ofHead } from "../lesson/training.js";
import { say } from "../texts/say.js";
import { element, saveText } from "../../../report/page/dom.js";

export const practiceChapter = {
  id: "practice",
  step: ({ document }) => (document.practice ? {} : null),
  view(app) {
    const { lesson } = app;
    const questions = questionsOf(lesson.start.practice);
    const parts = [...Array.from({ length: lesson.heads }, (_, head) => mapOf(lesson, head)), tableOf(app, questions)];
    const show = () => parts.forEach((part) => part.show());
    const learning = learningOf(app, show);
    const maps = parts.slice(0, -1).map(({ root }) => root);
    show();
    return element(
      "div",
      { class: "practice" },
      learning.root,
      element("div", { class: "practice-board" }, maps, parts.at(-1).root),
      trainingOf(app, questions),
    );
  },
};

// P of a head: a row for each token that asks, the darker a place, the more it takes from there.
function mapOf(lesson, head) {
  const { layer, queries, keys } = lesson.chapters;
  const cells = queries.map(() => keys.map(() => element("i")));
  const title = say("practice.map", { head });
  const root = sectionElement(
    "practice-map",
    title,
    element(
      "div",
      { style: `--columns: ${keys.length}`, role: "img", "aria-label": title },
      element("span"),
      keys.map((text) => element("span", { text })),
      queries.flatMap((text, row) => [element("span", { text }), ...cells[row]]),
    ),
  );
  const show = () => {
    const shares = ofHead(lesson.rightTape.values[layer.weights].data, [1, queries.length, keys.length], head);
    cells.flat().forEach((cell, i) => cell.style.setProperty("--amount", shares[i].toFixed(3)));
  };
  return { root, show };
}

// The questions, what should be answered, and what is; those last that are not learned.
function tableOf(app, questions) {
  const { lesson } = app;
  const { vocabulary } = lesson.document.meta;
  const textOf = (tokens) => tokens.map((token) => tokenText(vocabulary[token])).join("");
  const said = element("p", { role: "status" });
  const lines = questions.rows.map((row, at) => {
    const now = element("output");
    const shown = () => app.go({ prompt: promptOf(lesson, row), learn: lesson.state.learn }, { replace: true });
    const field = element("input", {
      value: textOf(row.answer),
      size: row.answer.length,
      "aria-label": say("practice.answer_to", { question: textOf(row.question) }),
      on: { change: () => change(at, field) },
    });
    const root = element("li", { class: row.isLearned ? null : "unseen-question" }, buttonElement(textOf(row.question), shown), field, now);
    return { root, now, row };
  });
  const change = (at, field) => {
    const answer = [...field.value].map((symbol) => vocabulary.indexOf(symbol));
    if (!isAnswer(answer, questions.rows[at])) field.value = textOf(questions.rows[at].answer);
    else learn(app, questions.rows.map((row, i) => (i === at ? answer : row.answer)));
  };
  const show = () => {
    const answers = answersNow(lesson.learning.tape, questions);
    const right = { learned: 0, unseen: 0 };
    lines.forEach(({ now, row }, i) => {
      const text = textOf(answers[i]);
      const isRight = text === textOf(row.answer);
      if (isRight) right[row.isLearned ? "learned" : "unseen"]++;
      now.textContent = text;
      now.className = isRight ? "good" : "bad";
    });
    const learned = questions.rows.filter(({ isLearned }) => isLearned).length;
    said.textContent = say("practice.right", { ...right, all: learned, others: lines.length - learned });
  };
  const byKind = lines.toSorted((a, b) => b.row.isLearned - a.row.isLearned);
  const root = sectionElement("questions", say("practice.questions"), said, taskSelect(app, questions), element("ul", {}, byKind.map((line) => line.root)));
  return { root, show };
}

const promptOf = ({ document }, { question, answer }) => [...question, document.meta.vocabulary.indexOf("\t"), ...answer].join(".");

// Other answers to the same questions, and learning begins anew.
function learn(app, answers) {
  const { vocabulary } = app.lesson.document.meta;
  const pairs = answers.map((answer) => answer.map((token) => vocabulary[token]).join("")).join(".");
  app.go({ pairs, prompt: null, learn: null }, { replace: true });
}

const tasks = {
  reverse: (question) => question.toReversed(),
  copy: (question) => question,
  any: (question, row) => question.map((_, i) => question[Math.floor(1000 * Math.abs(Math.sin(9 * row + i))) % question.length]),
};

function taskSelect(app, { rows }) {
  const same = (task) => rows.every(({ question, answer }, row) => String(task(question, row)) === String(answer));
  const now = Object.keys(tasks).find((name) => same(tasks[name])) ?? "own";
  const options = [...Object.keys(tasks), ...(now === "own" ? ["own"] : [])].map((name) => [name, say(`practice.task_${name}`)]);
  const change = (name) => name in tasks && learn(app, rows.map(({ question }, row) => tasks[name](question, row)));
  return element("label", {}, `${say("practice.task")} `, selectElement(options, now, change));
}

// The same training by the engine.
function trainingOf(app, { rows }) {
  const { lesson } = app;
  const { name, config, vocabulary } = lesson.document.meta;
  const command = commandOf(lesson);
  const textOf = (tokens) => tokens.map((token) => vocabulary[token]).join("");
  const table = () => rows.map(({ question, answer }) => `${textOf(question)}\t${textOf(answer)}\n`).join("");
  const file = (ending, text) => buttonElement(`${name}.${ending}`, () => saveText(`${name}.${ending}`, text(), "text/plain"));
  return sectionElement(
    "practice-command",
    say("practice.same"),
    element("p", { text: say(command ? "practice.command" : "practice.no_command") }),
    command ? element("p", {}, element("code", { text: command })) : null,
    command ? element("p", {}, file("toml", () => config), " ", file("tsv", table)) : null,
  );
}
