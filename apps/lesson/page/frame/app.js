// The page as a whole: it keeps the zones, and moves from state to state.
import { buttonElement, putChildren } from "./elements.js";
import { readAddress, writeAddress } from "../lesson/address.js";
import { CellPanel } from "../cell/panel.js";
import { chapterList, neighbours } from "./contents.js";
import { themeColours } from "../matrix/colours.js";
import { switchBar } from "./controls.js";
import { element } from "../../../report/page/dom.js";
import { keptFocus } from "./focus.js";
import { header } from "./header.js";
import { showKeys } from "./keys.js";
import { onAddress, setAddress } from "./place.js";
import { prepareStage, stageMove, stageOf } from "./stage.js";
import { pictureOf } from "../chapters/picture.js";
import { stepHead } from "./step_head.js";
import { StepView } from "../matrix/step_view.js";
import { Kept } from "../lesson/kept.js";
import { languageNow, say, useLanguage } from "../texts/say.js";
import { retaped } from "../lesson/retape.js";

const addressDelay = 250;

export class App {
  constructor(root, lesson, found) {
    this.root = root;
    this.lesson = lesson;
    this.found = found;
    this.kept = new Kept();
    this.panel = new CellPanel(this);
    this.tip = element("div", { class: "tip", role: "presentation", hidden: true });
    this.zones = {
      header: element("header", { class: "top" }),
      chapters: element("nav", { class: "chapters" }),
      step: element("main", { class: "step", id: "step", tabindex: "-1" }),
      cell: element("aside", { class: "cell", id: "cell", tabindex: "-1" }),
      switches: element("footer", { class: "switches" }),
    };
    const skip = (id, key) => {
      const click = (event) => {
        event.preventDefault();
        this.zones[id].focus();
      };
      return element("a", { class: "skip", href: `#${id}`, text: say(key), on: { click } });
    };
    root.replaceChildren(
      skip("step", "page.skip_step"),
      skip("cell", "page.skip_cell"),
      ...Object.values(this.zones),
      this.tip,
    );
    this.zones.cell.replaceChildren(this.panel.root);
    // How far the step is scrolled, as far as that is known: to ask the zone lays all out.
    this.scrolled = 0;
    this.zones.step.addEventListener("scroll", () => {
      this.scrolled = this.zones.step.scrollTop;
    });
    this.zones.step.addEventListener("focusin", () => {
      this.scrolled = null;
    });
    this.steps = new StepView(this);
    onAddress(root, (address) => this.visit(address));
    document.addEventListener("keydown", (event) => this.keyPressed(event));
    window.addEventListener("beforeprint", () => this.panel.idle.finish());
    this.paper = matchMedia("print");
    this.night = matchMedia("(prefers-color-scheme: dark)");
    for (const query of [this.paper, this.night]) {
      query.addEventListener("change", () => this.show());
    }
  }

  // Where an address leads.
  visit(address) {
    this.open(readAddress(address));
  }

  open(address) {
    const { lesson } = this;
    const { begin } = lesson;
    const cell = address.step ? null : begin.cell;
    const wanted = { ...begin, cell, zoom: "fit", settings: {}, edits: [], ...address };
    if (!lesson.layers.includes(wanted.layer)) wanted.layer = begin.layer;
    lesson.state = wanted;
    useLanguage(wanted.lang ?? languageNow());
    retaped(lesson);
    if (lesson.state.head >= lesson.heads) lesson.state.head = 0;
    this.show();
  }

  // What was packed has come: there is more to choose from, and a form to show that was asked for.
  async loadForms(packed) {
    await this.lesson.forms.load(packed);
    if (this.lesson.state.form) this.open(this.lesson.state);
    else putChildren(this.zones.switches, switchBar(this));
  }

  get isPresenting() {
    return this.lesson.state.style === "large";
  }

  get isOnPaper() {
    return this.paper.matches;
  }

  get isDark() {
    const { theme } = this.lesson.state;
    return !this.paper.matches && (theme ? theme === "dark" : this.night.matches);
  }

  // The state with changes, as the address bar has it.
  go(changes, { replace = false } = {}) {
    clearTimeout(this.addressTimer);
    const state = { ...this.lesson.state, ...changes };
    const address = writeAddress(state);
    setAddress(address, { replace });
    this.visit(address);
  }

  addressOf(changes) {
    return writeAddress({ ...this.lesson.state, ...changes });
  }

  show() {
    const { lesson, zones } = this;
    const giveFocusBack = keptFocus(zones);
    const isSameStep = this.shownStep === lesson.step.id;
    const wasAt = this.scrolled ?? zones.step.scrollTop;
    this.shownStep = lesson.step.id;
    this.setLooks(document.documentElement);
    this.showHeader();
    putChildren(zones.chapters, [chapterList(this)]);
    putChildren(zones.switches, switchBar(this));
    if (this.isPresenting) this.showStage();
    else this.showStep();
    if (wasAt > 0) this.scrollTo(isSameStep ? wasAt : 0);
    giveFocusBack();
  }

  showHeader() {
    putChildren(this.zones.header, header(this));
  }

  scrollTo(top) {
    this.steps.fit();
    this.zones.step.scrollTop = top;
    this.scrolled = null;
  }

  showStep() {
    const { lesson, zones } = this;
    lesson.coveredOnStage = null;
    const special = lesson.step.view?.(this) ?? null;
    const body = special ?? this.steps.root;
    const picture = lesson.step.picture ? pictureOf(this) : null;
    const { step, state, covered } = lesson;
    const things = [step, covered, state.head, languageNow(), this.isOnPaper];
    this.drawing = this.kept.get("drawing", things, () => step.drawing?.(this) ?? null);
    putChildren(zones.step, [...stepHead(this), picture, this.drawing?.root, body].filter(Boolean));
    this.marks = null; // those of what was shown before
    if (!special) this.steps.show();
    else this.steps.maps = [];
    zones.cell.hidden = Boolean(special);
    this.showCell();
    if (this.isOnPaper) {
      this.panel.idle.finish();
      this.steps.fit();
    }
  }

  // One step for a whole room, and nothing else.
  showStage() {
    prepareStage(this.lesson);
    this.panel.idle.cancel();
    this.panel.root.replaceChildren();
    this.steps.maps = [];
    this.marks = null;
    this.drawing = null;
    this.zones.step.replaceChildren(stageOf(this));
  }

  // Any change of these makes the browser look at all of its style again, and so does reading the colours.
  setLooks(html) {
    const { state } = this.lesson;
    const looks = {
      lang: languageNow() === "zh" ? "zh-CN" : "en",
      "data-theme": this.isDark ? "dark" : "light",
      "data-style": state.style ?? "",
      "data-route": state.route ?? "",
    };
    const labels = { chapters: "page.chapters", step: "page.the_step", cell: "page.this_cell", switches: "page.switches" };
    this.colours = this.kept.get("colours", [...Object.values(looks), this.isOnPaper], () => {
      for (const [name, label] of Object.entries(labels)) this.zones[name].setAttribute("aria-label", say(label));
      for (const [name, look] of Object.entries(looks)) html.setAttribute(name, look);
      return themeColours(html);
    });
  }

  // The reader's choice is scrolled into view, too.
  choose(cell) {
    this.scrolled = null;
    this.select(cell);
  }

  // Moves within what is shown: only marks and the panel change.
  select(cell) {
    const { state } = this.lesson;
    const now = state.cell;
    if (now?.key === cell.key && now.row === cell.row && now.column === cell.column) return;
    this.note({ cell });
    this.showCell();
  }

  // Another step of learning. The drawing that asks for it shows it by itself.
  learn(steps) {
    this.note({ learn: steps > 0 ? String(steps) : null });
    retaped(this.lesson);
  }

  // A change of the state for which nothing is drawn anew.
  note(changes) {
    this.lesson.state = { ...this.lesson.state, ...changes };
    clearTimeout(this.addressTimer);
    const write = () => setAddress(writeAddress(this.lesson.state), { replace: true });
    this.addressTimer = setTimeout(write, addressDelay); // browsers do not like to be told of every key
  }

  showCell() {
    this.marks = this.panel.show();
    this.drawing?.show();
    if (this.marks) this.steps.mark(this.marks);
  }

  // Lights up other cells for as long as they are pointed at. What had the focus may leave while another step is drawn.
  point(cells) {
    if (this.marks) this.steps.mark(cells ? { ...this.marks, lit: cells, fed: [] } : this.marks);
  }

  goToCell(value, index) {
    const state = this.lesson.stateOf(value, index);
    if (!state) return;
    if (state.step === this.lesson.step.id && state.head === this.lesson.state.head) {
      this.select(state.cell);
    } else {
      this.go(state);
    }
    this.steps.mapOf(state.cell.key)?.cell.focus({ preventScroll: true });
  }

  // Other numbers in these cells: [{value, index, number}]; without a number, that before.
  edit(cells) {
    const isOther = (each) => cells.every(({ value, index }) => each.value !== value || each.index !== index);
    const edits = cells.filter(({ number }) => number !== undefined);
    this.go({ edits: [...this.lesson.state.edits.filter(isOther), ...edits] }, { replace: true });
  }

  keyPressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "?") showKeys();
    if (event.key === " " && event.target.closest("button, a, summary, [role=gridcell]")) return;
    const { back, next } = neighbours(this.lesson);
    const to = { n: next, "]": next, p: back, "[": back }[event.key];
    const changes = this.isPresenting ? stageMove(this.lesson, event.key) : to && { step: to.id, cell: null };
    if (!changes) return;
    event.preventDefault();
    this.go(changes);
  }

  tooltip(text, event) {
    this.tip.hidden = !text;
    if (!text) return;
    this.tip.textContent = text;
    const { innerWidth } = window;
    const left = Math.min(event.clientX + 12, innerWidth - this.tip.offsetWidth - 8);
    this.tip.style.transform = `translate(${left}px, ${event.clientY + 18}px)`;
  }

  boardHeight(root) {
    if (innerWidth < 900) return 460;
    const { step } = this.zones;
    const top = root.getBoundingClientRect().top + step.scrollTop;
    return Math.max(340, step.getBoundingClientRect().bottom - top - 70);
  }

  copyButton(textOf) {
    const copy = async () => {
      await navigator.clipboard?.writeText(textOf());
      button.textContent = say("page.copied");
    };
    const button = buttonElement(say("page.copy"), copy, { class: "copy" });
    return button;
  }
}
