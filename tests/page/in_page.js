// What the tests do inside the page. They know it by addresses, roles, labels and ids.
window.pageTests = (() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const text = (selector, root = document) => root.querySelector(selector)?.textContent ?? null;
  const nextTask = () => new Promise((done) => setTimeout(done));

  async function until(holds, what, patience = 10000) {
    const end = performance.now() + patience;
    while (!holds()) {
      if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
      await nextTask();
    }
  }

  async function go(address) {
    if (location.hash === address) return;
    let hasArrived = false;
    addEventListener("hashchange", () => (hasArrived = true), { once: true });
    // Chromium bears 200 changes of the address in ten seconds, and leaves out those that come then.
    for (let attempts = 0; !hasArrived && attempts < 30; attempts++) {
      location.replace(address);
      await until(() => hasArrived, address, 500).catch(() => null);
    }
    if (!hasArrived) throw new Error(`cannot go to ${address}`);
  }

  const steps = () =>
    all("nav a[href^='#']")
      .map((link) => new URLSearchParams(link.hash.slice(1)).get("step"))
      .filter((step, i, list) => step && list.indexOf(step) === i);

  const matrices = () =>
    all("main [role=grid]").map((grid) => ({
      key: grid.dataset.matrix,
      value: Number(grid.dataset.value),
      rows: Number(grid.getAttribute("aria-rowcount")),
      columns: Number(grid.getAttribute("aria-colcount")),
      label: grid.getAttribute("aria-label"),
      isWrong: Boolean(grid.closest(".wrong")),
      isGradient: Boolean(grid.closest(".gradient")),
    }));

  // All cells of a matrix, row by row, with all digits, as the panel tells of each.
  function numbersOf(key) {
    const { rows, columns } = matrices().find((matrix) => matrix.key === key);
    const { lesson } = document.getElementById("lesson").app;
    const matrix = lesson.matrix(key);
    const texts = [];
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        texts.push(String(matrix.number(row, column)));
      }
    }
    return texts;
  }

  // What the page has computed now, by name: {name: {numbers, gradient}}, and the loss.
  function computed() {
    const { tape } = document.getElementById("lesson").app.lesson;
    const texts = (tensor) => tensor && Array.from(tensor.data, String);
    const named = {};
    tape.facts.forEach((fact, value) => {
      const numbers = texts(tape.values[value]);
      const gradient = texts(tape.gradient(value));
      for (const name of [fact.name, ...(fact.paths ?? [])]) {
        if (name) named[name] = { numbers, gradient };
      }
    });
    return { named, loss: String(tape.loss()) };
  }

  // Other heads, positions, projections: what one can choose from, once it has been unpacked.
  async function forms() {
    await until(() => document.querySelector("#form"), "the list of forms");
    return all("#form option").map(({ value }) => value).filter((value) => value);
  }

  const mistakeList = () =>
    all("footer select").find((select) => all("option", select).some(({ value }) => value === "row_sum"));

  const mistakes = () =>
    all("option", mistakeList()).map(({ value }) => value).filter((value) => value);

  async function chooseMistake(id) {
    const select = mistakeList();
    select.value = id;
    select.dispatchEvent(new Event("change", { bubbles: true }));
    await nextTask();
  }

  const mistakeNote = () => text("main [role=note]");
  const addressNow = () => location.hash;
  const badMarks = () => all("#lesson .bad, #lesson .wrong").map((each) => each.textContent.trim());

  // What one can do something with, as far as it can be seen and is not disabled.
  const controls = () =>
    all("a[href], button, input, select, textarea, summary, [tabindex='0']").filter(
      (each) => !each.disabled && each.checkVisibility({ visibilityProperty: true }) && each.tabIndex >= 0,
    );

  const nameOf = (each) => `${each.tagName} ${each.className} ${each.textContent.trim().slice(0, 30)}`;
  const reached = new WeakSet();
  document.addEventListener("focusin", ({ target }) => reached.add(target));
  const numberControls = () => controls().length;
  const unreachedControls = () => controls().filter((each) => !reached.has(each)).map(nameOf);

  let firstReached = null;
  document.addEventListener("focusin", ({ target }) => (firstReached ??= target));
  const isRoundDone = () =>
    document.activeElement === document.body ||
    (document.activeElement === firstReached && reached.has(controls().at(-1)));

  async function pressManyTimes(key, other, times) {
    for (let i = 0; i < times; i++) {
      const event = { key: i % 2 ? other : key, bubbles: true, cancelable: true };
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", event));
      await nextTask();
    }
  }

  function focusWithoutRing() {
    const { activeElement: focused } = document;
    if (!focused || focused === document.body) return null;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(focused);
    const hasRing = outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
    return hasRing || boxShadow !== "none" ? null : nameOf(focused);
  }

  function blur() {
    firstReached = null;
    document.activeElement?.blur();
    getSelection().removeAllRanges();
  }

  const focusMatrix = (key) =>
    document.querySelector(`[role=grid][data-matrix="${key}"] [role=gridcell]`).focus();
  const focusSwitch = (at) => all("[role=switch]")[at].focus();

  function chosen() {
    const cell = document.querySelector("[role=gridcell][aria-selected=true]");
    const number = (element, name) => Number(element.getAttribute(name)) - 1;
    return cell && {
      key: cell.closest("[role=grid]").dataset.matrix,
      row: number(cell.closest("[role=row]"), "aria-rowindex"),
      column: number(cell, "aria-colindex"),
    };
  }

  function widths() {
    const { scrollWidth, clientWidth } = document.documentElement;
    const isCut = (each) => {
      for (let outer = each.parentElement; outer; outer = outer.parentElement) {
        if (getComputedStyle(outer).overflowX !== "visible") return true;
      }
      return false;
    };
    const wide = all("#lesson *").filter(
      (each) => each.getBoundingClientRect().right > clientWidth + 1 && !isCut(each),
    );
    return { page: Math.max(scrollWidth, document.body.scrollWidth), widest: wide.slice(0, 3).map(nameOf) };
  }

  function printed() {
    const isSeen = (each) => Boolean(each?.checkVisibility() && each.getBoundingClientRect().width > 0);
    return {
      matrices: all("main [role=grid]").filter(isSeen).length,
      heading: isSeen(document.querySelector("main h2")),
      switches: all("footer [role=switch]").some(isSeen),
      background: getComputedStyle(document.body).backgroundColor,
    };
  }

  const moving = () => {
    const seconds = (text) => Math.max(...text.split(",").map(parseFloat));
    const isMoving = (each) => {
      const { transitionDuration, animationDuration, animationName } = getComputedStyle(each);
      return seconds(transitionDuration) > 0.01 || (animationName !== "none" && seconds(animationDuration) > 0.01);
    };
    return all("#lesson *").filter(isMoving).map(nameOf);
  };

  function lightness() {
    const ofPage = [document.querySelector("main"), document.body, document.documentElement]
      .map((each) => getComputedStyle(each).backgroundColor)
      .find((colour) => !/rgba\(.*, 0\)|transparent/.test(colour));
    const [red, green, blue] = ofPage.match(/[0-9.]+/g).map(Number);
    return (red + green + blue) / 3;
  }

  // Where one stands, by what is marked as current.
  const shown = () => ({
    step: new URLSearchParams(document.querySelector("nav [aria-current=step]").hash.slice(1)).get("step"),
    layer: document.querySelector("main select.layer")?.value ?? null,
    language: document.documentElement.lang,
  });

  // What is said in whole English words where it should be Chinese: texts of five words and more.
  const latinTexts = () => {
    const walker = document.createTreeWalker(document.getElementById("lesson"), NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const { textContent, parentElement } = walker.currentNode;
      if (parentElement.closest("math, code, output, [lang=en]")) continue;
      if (/([a-z]{2,}[ ,]+){4}[a-z]{2,}/i.test(textContent)) found.push(textContent.trim());
    }
    return found;
  };

  const markOf = (selector) => {
    const found = document.querySelector(selector);
    if (!found) return null;
    return found.classList.contains("good") ? "good" : found.classList.contains("bad") ? "bad" : "";
  };

  // As a click on the cell, or keys that move to it, would.
  async function cell({ key, row, column }) {
    const { app } = document.getElementById("lesson");
    app.select({ key, row, column });
    app.panel.idle.finish();
    if (document.querySelector("aside .check")) {
      await until(() => document.querySelector("#difference-verdict"), "the difference");
    }
    const operands = all("aside .arithmetic button.operand").map((button) => ({
      value: Number(button.dataset.value),
      index: Number(button.dataset.index),
      title: button.title,
    }));
    return {
      key,
      row,
      column,
      name: text("#cell-name"),
      number: text("#cell-value"),
      arithmetic: text("#cell-arithmetic"),
      result: markOf("aside .result"),
      operands,
      numeric: text("#numeric-value"),
      verdict: markOf("#difference-verdict"),
      reason: document.querySelector("aside [data-reason]")?.dataset.reason ?? null,
      feeds: all("aside .feeds button").length,
    };
  }

  async function cells(wanted) {
    const found = [];
    for (const each of wanted) found.push(await cell(each));
    return found;
  }

  return {
    numberControls, isRoundDone, pressManyTimes, unreachedControls, focusWithoutRing, blur, focusMatrix,
    focusSwitch, chosen, widths, printed, moving, lightness, all, text, go, computed, forms, mistakes,
    chooseMistake, mistakeNote, addressNow, badMarks, numbersOf, latinTexts, shown, steps, matrices, cell,
    cells, until, nextTask, markOf,
  };
})();
