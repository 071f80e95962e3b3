"""The examples of docs/adding-things.md about the page, tried as they stand there."""

import json
import math
import re
import shutil
import tempfile
import tomllib
from pathlib import Path

import browser
import engine
from report import expect, expect_equal, is_near
from sources_test import PAGE, served

FENCE = re.compile(r"`apps/lesson/page/([\w/.]+)`[^`]*?:\n\n```js\n(.*?)```", re.S)
TEXTS = re.compile(r"`apps/lesson/texts/[\w.]+`[^`]*`id`:\n\n```toml\n(.*?)```", re.S)
ELEMENT = re.compile(r'(<script type="application/json" id="texts">)(.*?)(</script>)', re.S)


def documentation() -> str:
    return (engine.ROOT / "docs/adding-things.md").read_text(encoding="utf-8")


def page_with_the_examples(folder: Path) -> None:
    """The modules of the page in `folder`, with every block of JavaScript where the text says that it belongs."""
    shutil.copytree(PAGE, folder / "lesson/page")
    shutil.copytree(engine.ROOT / "apps/report/texts", folder / "report/texts")
    text = documentation()
    blocks = FENCE.findall(text)
    expect_equal(len(blocks), text.count("```js"), "blocks of JavaScript that say where they belong")
    for path, code in blocks:
        file = folder / "lesson/page" / path
        if not file.exists():
            file.write_text(code, encoding="utf-8")
            continue
        line, entry = filter(None, code.splitlines())
        old = file.read_text(encoding="utf-8")
        new = re.sub(r"^(const all\w+ = [\[{]\n)", rf"\1{entry}\n", old, count=1, flags=re.M)
        expect(new != old, f"{path} has no list that begins with all…")
        file.write_text(f"{line}\n{new}", encoding="utf-8")


def unbundled(page: Path) -> str:
    """A lesson whose script is the modules of apps/lesson/page/, with the texts of the examples."""
    text = page.read_text(encoding="utf-8")
    (example,) = TEXTS.findall(documentation())
    begin, texts, end = ELEMENT.search(text).groups()
    known = json.loads(texts)
    for table, parts in tomllib.loads(example).items():
        known.update({f"{table}.{key}": [pair["en"], pair["zh"]] for key, pair in parts.items()})
    text = ELEMENT.sub(lambda _: begin + json.dumps(known) + end, text)
    text = re.sub(r"<meta http-equiv[^>]*>", "", text)
    return re.sub(r'<script type="module">.*</script>', '<script type="module" src="lesson/page/main.js"></script>', text,
                  flags=re.S)


SHOWN = """
    const done = arguments[0];
    const root = document.getElementById("lesson");
    const tell = () => done({
      title: root.querySelector(".step-bar h2").textContent,
      matrices: [...root.querySelectorAll("[data-matrix]")].map((each) => each.dataset.matrix),
    });
    if (root.firstChild) tell();
    else new MutationObserver(() => root.firstChild && tell()).observe(root, { childList: true });"""

COMPUTED = """
    const done = arguments[0];
    const modules = ["list", "expression"].map((name) => import(`/lesson/page/ops/${name}.js`));
    Promise.all(modules).then(([ops, { Expression }]) => {
      const op = ops.opNamed("softplus");
      const x = { value: 0, shape: [3], data: Float64Array.of(-1, 0, 2) };
      const node = { inputs: [x], attributes: {}, shape: [3], output: 1 };
      done({ numbers: [...op.run(node)],
             formula: Expression.evaluate(op.cell(node, 2), (_, index) => x.data[index]) });
    });"""


def test_the_examples_of_the_docs_become_a_chapter_and_an_op():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page_with_the_examples(folder)
        (folder / "lesson.html").write_text(unbundled(engine.three_words().page), encoding="utf-8")
        with served(folder) as address:
            browser.driver().get(f"{address}/lesson.html#step=input&lang=en")
            shown = browser.driver().execute_async_script(SHOWN)
            computed = browser.driver().execute_async_script(COMPUTED)
    expect_equal(shown, {"title": "Into the block", "matrices": ["X_in", "dX_in"]}, "the chapter")
    wanted = [math.log1p(math.exp(x)) for x in (-1, 0, 2)]
    for found, number in zip([*computed["numbers"], computed["formula"]], [*wanted, wanted[2]]):
        expect(is_near(found, number, 1e-14), f"softplus: {found}, expected {number}")
