// What the tests do inside the page. They know it by addresses, roles, labels and ids.
window.pageTests = (() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const text = (selector, root = document) => root.querySelector(selector)?.textContent ?? null;
  const nextTask = () =>
    new Promise((done) => {
      setTimeout(done);
    });

  async function until(holds, what, patience = 10000) {
    const end = performance.now() + patience;
    while (!holds()) {
      if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
      await nextTask();
    }
  }

  const nextFrame = () =>
    new Promise((done) => {
      requestAnimationFrame(() => setTimeout(done));
    });
  const appNow = () => document.getElementById("lesson").app;

  // As the address bar would lead there, but that Chromium bears 200 changes of it in ten seconds.
  const visit = (address) => appNow().visit(address);

  // The same, until it is drawn.
  async function go(address) {
    visit(address);
    await nextFrame();
  }

  // [[address, [[function, argument, …], …]], …]: goes to each, and tells what is found there. Only what waits
  // for the next frame sees it drawn.
  async function tour(stops) {
    const found = [];
    for (const [address, looks] of stops) {
      visit(address);
      const seen = [];
      for (const [name, ...given] of looks) seen.push(await pageTests[name](...given));
      found.push(seen);
    }
    return found;
  }

  const steps = () =>
    all(".chapter-select option").map(({ value }) => value);

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

  function base64Of(numbers) {
    const bytes = new Uint8Array(Float64Array.from(numbers).buffer);
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  }

  // The matrices of the step, with all their cells row by row, as the panel tells of each.
  const numberedMatrices = () =>
    matrices().map((matrix) => {
      const shown = appNow().lesson.matrix(matrix.key);
      const row = (at) => Array.from({ length: matrix.columns }, (_, i) => shown.number(at, i));
      const numbers = Array.from({ length: matrix.rows }, (_, at) => row(at)).flat();
      return { ...matrix, scale: shown.size, numbers: base64Of(numbers) };
    });

  // Question and answer of the step, in that language; null where it has none.
  const question = () => {
    const details = document.querySelector("main .question");
    return details && { ask: text("summary", details), answer: text("p", details) };
  };

  // A cell in the middle, and the last.
  function sampled({ key, rows, columns }) {
    const places = [
      [Math.floor(rows / 2), Math.floor(columns / 2)],
      [rows - 1, columns - 1],
    ];
    const isNew = (place, i) => places.findIndex((other) => String(other) === String(place)) === i;
    return places.filter(isNew).map(([row, column]) => ({ key, row, column }));
  }

  // The step with all its numbers, and some cells of each matrix, of which the last one is drawn. A matrix that
  // many heads and layers have in common is asked once.
  const known = new Set();
  async function wholeStep() {
    const found = numberedMatrices().map((matrix) => {
      const identity = `${matrix.key} ${matrix.value} ${matrix.numbers}`;
      const isKnown = known.has(identity);
      known.add(identity);
      return { ...matrix, cells: isKnown ? [] : cells(sampled(matrix)) };
    });
    await nextFrame();
    return found;
  }

  // What the page has computed now, by name: {name: {numbers, gradient}}, and the loss.
  function computed() {
    const { tape } = appNow().lesson;
    const texts = (tensor) => tensor && base64Of(tensor.data);
    const named = {};
    tape.facts.forEach((fact, value) => {
      const names = [fact.name, ...(fact.paths ?? [])].filter(Boolean);
      if (names.length === 0) return;
      const numbers = texts(tape.values[value]);
      const gradient = texts(tape.gradient(value));
      for (const name of names) named[name] = { numbers, gradient };
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

  // Where one stands, by what is marked as current.
  const shown = () => ({
    step: new URLSearchParams(document.querySelector("nav [aria-current=step]").hash.slice(1)).get("step"),
    layer: appNow().lesson.state.layer,
    language: document.documentElement.lang,
  });

  const markOf = (selector) => {
    const found = document.querySelector(selector);
    if (!found) return null;
    return found.classList.contains("good") ? "good" : found.classList.contains("bad") ? "bad" : "";
  };

  // What waits for a quiet moment: the arithmetic in digits, and the difference, but not its curve.
  function workWaiting() {
    const { idle } = appNow().panel;
    const works = [...idle.pending.values()];
    idle.cancel();
    for (const work of works) work();
    idle.cancel();
  }

  const finishPanel = () => appNow().panel.idle.finish();

  // As a click on the cell, or keys that move to it, would.
  function cell({ key, row, column }) {
    appNow().select({ key, row, column });
    workWaiting();
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
      place: text("aside .place"),
      number: text("#cell-value"),
      shown: text("aside header .number"),
      arithmetic: text("#cell-arithmetic"),
      result: markOf("aside .result"),
      operands,
      numeric: text("#numeric-value"),
      verdict: markOf("#difference-verdict"),
      reason: document.querySelector("aside [data-reason]")?.dataset.reason ?? null,
      feeds: all("aside .feeds button").length,
    };
  }

  const cells = (wanted) => wanted.map(cell);

  const lastCells = () => cells(matrices().map(({ key, rows, columns }) => ({ key, row: rows - 1, column: columns - 1 })));

  // A cell of the last matrix.
  function openSomeCell() {
    const [matrix] = matrices().slice(-1);
    if (matrix) appNow().select({ key: matrix.key, row: 0, column: 0 });
    finishPanel();
  }

  return {
    all, text, until, nextTask, nextFrame, go, tour, steps, matrices, numberedMatrices, question, wholeStep, computed, forms,
    mistakes, chooseMistake, mistakeNote, addressNow, badMarks, shown, markOf, cells, lastCells, openSomeCell,
    finishPanel,
  };
})();
