// What the tests do as a reader: keys, looks, colours, what is saved and where addresses lead.
Object.assign(window.pageTests, (() => {
  const { all, nextTask, nextFrame, finishPanel } = pageTests;
  const appNow = () => document.getElementById("lesson").app;

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
    document.body.setAttribute("tabindex", "-1"); // so that Tab begins at the top
    document.body.focus();
    document.body.removeAttribute("tabindex");
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

  // How wide the page is; where that is wider than the window, what makes it so.
  async function widths() {
    await nextFrame();
    const { scrollWidth, clientWidth } = document.documentElement;
    const page = Math.max(scrollWidth, document.body.scrollWidth);
    if (page <= clientWidth) return { page, widest: [] };
    const isCut = (each) => {
      for (let outer = each.parentElement; outer; outer = outer.parentElement) {
        if (getComputedStyle(outer).overflowX !== "visible") return true;
      }
      return false;
    };
    const wide = all("#lesson *").filter(
      (each) => each.getBoundingClientRect().right > clientWidth + 1 && !isCut(each),
    );
    return { page, widest: wide.slice(0, 3).map(nameOf) };
  }

  // What the slide says, and how far it reaches.
  function stage() {
    const textOf = (selector) => document.querySelector(selector)?.textContent ?? "";
    const boxes = all(".stage *").map((each) => each.getBoundingClientRect()).filter(({ width }) => width > 0);
    return {
      name: textOf(".stage h2"), place: textOf(".stage-line span"), said: textOf(".stage-arithmetic"),
      question: textOf(".stage-question"), hidden: appNow().lesson.covered !== null, address: location.hash,
      symbols: all(".stage figcaption math").map((each) => each.getAttribute("aria-label")),
      right: Math.max(...boxes.map((each) => each.right)), bottom: Math.max(...boxes.map((each) => each.bottom)),
    };
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

  // What a button saves, without saving it: {name, type, text}.
  async function savedBy(button) {
    const { createObjectURL } = URL;
    const { click } = HTMLAnchorElement.prototype;
    const saved = {};
    URL.createObjectURL = (blob) => ((saved.blob = blob), "#");
    HTMLAnchorElement.prototype.click = function () {
      saved.name = this.download;
    };
    button.click();
    URL.createObjectURL = createObjectURL;
    HTMLAnchorElement.prototype.click = click;
    return { name: saved.name, type: saved.blob.type, text: await saved.blob.text() };
  }

  // What the button of each matrix of the step saves.
  const saves = () => Promise.all(all("main figure .csv").map(savedBy));
  const trainingFiles = () => Promise.all(all(".practice-command button").map(savedBy));

  async function numpyScript() {
    const button = document.querySelector("main button.numpy");
    return button && savedBy(button);
  }

  // All that the page says or holds: texts, and attributes.
  function everyText() {
    const attributes = (each) => [...each.attributes].map(({ value }) => value);
    const values = all("#lesson input, #lesson output").map(({ value }) => value);
    const texts = [document.title, document.getElementById("lesson").textContent, ...values];
    return [...texts, ...all("#lesson, #lesson *").flatMap(attributes)].join("\n");
  }

  // Where the page tells a number with these digits, wherever the point is, or null.
  function placeOf(digits) {
    const plain = everyText().replaceAll(/(?<=\d)\.(?=\d)/g, "");
    const at = plain.indexOf(digits);
    return at < 0 ? null : plain.slice(Math.max(0, at - 60), at + 30);
  }

  // What can be seen of the state: texts, what is switched on, chosen, typed in.
  async function appearance() {
    finishPanel();
    const { lang, dataset } = document.documentElement;
    const of = (selector, read) => all(`#lesson ${selector}`).map(read);
    return {
      lang,
      theme: dataset.theme ?? "",
      style: dataset.style ?? "",
      texts: of(":is(header, nav, main, aside, footer)", ({ textContent }) => textContent),
      links: of("a[href]", (each) => each.getAttribute("href")),
      values: of(":is(input, select)", ({ value }) => value),
      pressed: of("[aria-pressed], [aria-checked]", (each) =>
        `${each.textContent} ${each.ariaPressed} ${each.ariaChecked}`),
      labels: of("[role=gridcell]", (each) => each.getAttribute("aria-label")),
    };
  }

  // As the address bar does it.
  const changesAddress = (leave) =>
    new Promise((done) => {
      addEventListener("hashchange", () => done(), { once: true });
      leave();
    });
  const follow = (address) =>
    changesAddress(() => {
      location.hash = address;
    });
  const goBack = () => changesAddress(() => history.back());

  const buttonNamed = (name, root = document) =>
    all("button", root).find(({ textContent }) => textContent.trim() === name);

  async function press(name) {
    buttonNamed(name).click();
    await nextTask();
  }

  function fillIn(selector, value) {
    const input = document.querySelector(selector);
    input.value = value;
    input.form.requestSubmit();
  }

  // The words of the step that have a meaning, and the symbols of its matrices.
  function terms() {
    for (const each of all("main details.question")) each.open = true;
    return all("main button.term").map((term) => {
      term.focus();
      const tip = document.querySelector(".tip");
      return { name: term.textContent, meaning: tip.hidden ? "" : tip.textContent };
    });
  }

  const symbols = () =>
    all("main .matrix:not(.missing) .symbol").map((symbol) =>
      [symbol.querySelector("math").getAttribute("aria-label"), symbol.classList.contains("term")]);

  // Of the first matrix.
  const rowNames = () => {
    const [{ matrix }] = appNow().steps.maps;
    return Array.from({ length: matrix.grid.rows }, (_, row) => matrix.rowName(row));
  };

  const openCell = (cell) => {
    appNow().select(cell);
    finishPanel();
  };

  // The cells that tell a number when they are open: [cell, where]. Of each matrix that in this row and column is
  // tried, and those in line with it.
  function cellsThatTell(digits, row, column) {
    const cells = [[0, column], [row, 0], [row, column]];
    return pageTests.matrices().flatMap(({ key, rows, columns }) =>
      cells
        .filter(([r, c]) => r < rows && c < columns)
        .map(([r, c]) => {
          pageTests.cells([{ key, row: r, column: c }]);
          return [`${key}.${r}.${c}`, placeOf(digits)];
        })
        .filter(([, place]) => place !== null),
    );
  }

  // The colours of the cells of each matrix, above their numbers: [red, green, blue], row by row; and those
  // of the style sheet.
  async function cellColours() {
    await nextFrame();
    return appNow().steps.maps.map((map) => {
      const { matrix, base, left, top, cellWidth, cellHeight } = map;
      const context = base.getContext("2d");
      const colourAt = (row, column) => {
        const x = Math.floor((left + (column + 0.5) * cellWidth) * devicePixelRatio);
        const y = Math.floor((top + row * cellHeight + 1.5) * devicePixelRatio);
        return [...context.getImageData(x, y, 1, 1).data].slice(0, 3);
      };
      const { rows, columns } = matrix.grid;
      const cells = Array.from({ length: rows * columns }, (_, at) =>
        colourAt(Math.floor(at / columns), at % columns),
      );
      return { key: matrix.key, hue: matrix.hue, cells };
    });
  }

  function namedColours() {
    const canvas = document.createElement("canvas").getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const read = (name) => {
      canvas.fillStyle = style.getPropertyValue(`--${name}`).trim();
      canvas.fillRect(0, 0, 1, 1);
      return [name, [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)];
    };
    return Object.fromEntries(["zero", "positive", "negative", "share", "hidden"].map(read));
  }

  return {
    numberControls, isRoundDone, pressManyTimes, unreachedControls, focusWithoutRing, blur, focusMatrix,
    focusSwitch, chosen, widths, stage, printed, moving, lightness, latinTexts, saves, trainingFiles, numpyScript, placeOf,
    appearance, follow, goBack, press, fillIn, terms, symbols, rowNames, openCell, cellsThatTell,
    cellColours, namedColours,
  };
})());
