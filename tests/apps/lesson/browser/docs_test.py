"""What docs/ says of pages: the walks of teaching.md and course.md, at the addresses that a teacher opens, and the
examples of adding-things.md; what the page's modules must be, and their own tests."""

import base64
import http.server
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
import zlib
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

import browser
import engine
from page import Page
from report import Skipped, expect, expect_equal, is_near

sys.path.insert(0, str(engine.ROOT / "tests/docs"))
from course import lessons_of  # noqa: E402

TEACHING = (engine.ROOT / "docs/teaching.md").read_text(encoding="utf-8")


class CoursePage:
    """What a command of a lesson writes, `./qkv explain … --out NAME.html`, and before it the run that it shows."""

    def __init__(self, lesson, command):
        words = command.words()[1:]
        self.name = words[words.index("--out") + 1]
        wanted = [words]
        if not words[1].startswith("--"):
            trainings = [each.words()[1:] for each in lesson.commands("train")]
            wanted[:0] = [each for each in trainings if each[each.index("--out") + 1] == words[1]]

        def make(here):
            (here / "configs").unlink(missing_ok=True)
            (here / "configs").symlink_to(engine.ROOT / "configs")
            for each in wanted:
                subprocess.run([engine.program(), *each], cwd=here, check=True, capture_output=True)

        self.page = engine.made_once(f"course-{self.name}", wanted, make) / self.name


def pages_of(lesson) -> dict:
    commands = [each for each in lesson.commands("explain") if "--out" in each.words()]
    pages = [CoursePage(lesson, command) for command in commands]
    return {page.name: page for page in pages}


def walks():
    """(where, text, page, addresses)"""
    addresses = re.findall(r"\]\(lesson\.html(#[^)]+)\)", TEACHING)
    expect(len(addresses) >= 9, f"teaching.md has only the addresses {addresses}")
    yield "teaching.md", TEACHING, engine.three_words(), addresses
    for lesson in lessons_of("course.md"):
        for name, written in pages_of(lesson).items():
            addresses = [address for page, address in lesson.addresses() if page == name]
            expect(bool(addresses), f"lesson {lesson.number} has no address into {name}")
            yield f"lesson {lesson.number}", lesson.text, written, addresses


# What is shown, as the page writes it.
ADDRESS = "return document.getElementById('lesson').app.addressOf({})"


def test_the_addresses_of_a_walk_lead_where_they_say_and_to_the_numbers_that_it_tells():
    """Each cell's own number stands in the item of a list that its address begins."""
    told_in = dict.fromkeys(("teaching.md", "course.md"), 0)
    for walk, text, written, addresses in walks():
        page = Page(written)
        for address in addresses:
            where = f"{walk}, {address}"
            expect(f"[{address}](" in text, f"{where}: the text of the link is another")
            page.call("go", f"{address}&lang=en")
            given = parse_qs(address[1:])
            expect_equal(page.shown_step(), given["step"][0], where)
            now = parse_qs(browser.script(ADDRESS)[1:])
            expect_equal({key: now.get(key) for key in given}, given, f"{where}: the state of the page")
            if "cell" not in given:
                continue
            key, row, column = given["cell"][0].split(".")
            expect_equal(page.cell_name(), f"{key}[{row},{column}]", where)
            item = re.search(rf"^- \[{re.escape(address)}\]\([^)]*\)(.*?)(?=^- |^#|^\n|\Z)", text, re.M | re.S)
            if walk == "teaching.md" and (not item or key == "dQ" or item.start() > text.index("## Going on")):
                continue
            [cell] = page.cells([{"key": key, "row": int(row), "column": int(column)}])
            number = float(cell["number"].replace("−", "-"))
            told = [float(each.replace("−", "-")) for each in re.findall(r"−?\d+(?:\.\d+)?", item.group(1) if item else "")]
            expect(any(abs(each - number) < 6e-4 for each in told), f"{where}: {number} is not among {told}")
            told_in["teaching.md" if walk == "teaching.md" else "course.md"] += 1
    expect(all(count >= 3 for count in told_in.values()), f"only {told_in} cells were looked up")


def test_the_exercises_of_the_walk_have_these_answers():
    page = Page(engine.three_words())
    rows = re.findall(r"^\| \[(#[^\]]+)\].*\| (-?[\d.]+) \|$", TEACHING, re.M)
    expect_equal(len(rows), 3, "exercises")
    for address, answer in rows:
        page.call("go", f"{address}&lang=en")
        page.call("fillIn", "#exercise-answer", answer)
        verdict = browser.script("return document.querySelector('aside .verdict').textContent")
        expect(verdict.startswith("✓"), f"{address}: {answer} is {verdict}")
    page.call("go", f"{rows[1][0]}&lang=en")
    page.call("fillIn", "#exercise-answer", "0.311")
    expect("row sum" in browser.script("return document.querySelector('aside .verdict').textContent"), "without the row sum")


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript",
                      ".js": "text/javascript"}

    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """An address under which the browser finds the files of a folder."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def test_the_modules_pass_their_own_tests():
    if not shutil.which("node"):
        raise Skipped("there is no node (Debian: nodejs)")
    files = sorted(engine.ROOT.glob("tests/apps/lesson/page/*.test.mjs"))
    done = subprocess.run(["node", "--test", *files], capture_output=True, text=True)
    expect_equal(done.returncode, 0, done.stdout)


FENCE = re.compile(r"`apps/lesson/page/([\w/.]+)`[^`]*?:\n\n```js\n(.*?)```", re.S)
TEXTS = re.compile(r"`apps/lesson/texts/[\w.]+`[^`]*`id`:\n\n```toml\n(.*?)```", re.S)
ELEMENT = re.compile(r'(<script type="text/plain" id="texts">)(.*?)(</script>)', re.S)


def documentation() -> str:
    return (engine.ROOT / "docs/adding-things.md").read_text(encoding="utf-8")


def page_with_the_examples(folder: Path) -> None:
    """The modules of the page in `folder`, with every block of JavaScript where the text says that it belongs."""
    shutil.copytree(engine.ROOT / "apps/lesson/page", folder / "lesson/page")
    for part in ("page", "texts"):
        shutil.copytree(engine.ROOT / "apps/report" / part, folder / "report" / part)
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
        group = re.match(r"  \w+: \[", entry)
        if group:
            new = re.sub(rf"^{re.escape(group[0])}.*$", entry, old, count=1, flags=re.M)
        else:
            new = re.sub(r"^(const all\w+ = \{\n)", rf"\1{entry}\n", old, count=1, flags=re.M)
        expect(new != old, f"{path} has no place for the line {entry}")
        file.write_text(f"{line}\n{new}", encoding="utf-8")


def unbundled(page: Path) -> str:
    """A lesson whose script is the modules of apps/lesson/page/, with the texts of the examples."""
    text = page.read_text(encoding="utf-8")
    (example,) = TEXTS.findall(documentation())
    begin, texts, end = ELEMENT.search(text).groups()
    known = json.loads(zlib.decompress(base64.b64decode(texts)))
    for table, parts in tomllib.loads(example).items():
        known.update({f"{table}.{key}": [pair["en"], pair["zh"]] for key, pair in parts.items()})
    text = ELEMENT.sub(lambda _: begin + base64.b64encode(zlib.compress(json.dumps(known).encode())).decode() + end, text)
    text = re.sub(r"<meta http-equiv[^>]*>", "", text)
    return re.sub(r'<script type="module">.*</script>', '<script type="module" src="lesson/page/main.js"></script>', text,
                  flags=re.S)


SHOWN = """
    const root = document.getElementById("lesson");
    const tell = () => done({
      title: root.querySelector(".step-bar h2").textContent,
      matrices: [...root.querySelectorAll("[data-matrix]")].map((each) => each.dataset.matrix),
    });
    if (root.firstChild) tell();
    else new MutationObserver(() => root.firstChild && tell()).observe(root, { childList: true });"""

COMPUTED = """
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
            browser.driver().get(f"{address}/lesson.html#step=incoming&lang=en")
            shown = browser.wait_for(SHOWN)
            computed = browser.wait_for(COMPUTED)
    expect_equal(shown, {"title": "Into the block", "matrices": ["X_in", "dX_in"]}, "the chapter")
    wanted = [math.log1p(math.exp(x)) for x in (-1, 0, 2)]
    for found, number in zip([*computed["numbers"], computed["formula"]], [*wanted, wanted[2]]):
        expect(is_near(found, number, 1e-14), f"softplus: {found}, expected {number}")


# The sources of the pages: no number on them is invented, and they work in any browser without help.
MOST_NUMBERS = 5  # in an array: a row of sizes, a colour; more would be a table

FORBIDDEN = {
    "a number is random": ("Math.random", "crypto.", "Date.now", "new Date", "performance.now"),
    "a network is asked": ("fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "import("),
    "a text becomes markup": ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"),
}


def test_the_sources_invent_nothing_ask_nobody_and_write_no_markup():
    number = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?n?"
    table = re.compile(rf"\[\s*(?:{number}\s*,\s*){{{MOST_NUMBERS},}}(?:{number}\s*)?,?\s*\]", re.I)
    files = [*engine.ROOT.glob("apps/lesson/page/**/*.js"), *engine.ROOT.glob("apps/report/**/*.js")]
    expect(len(files) > 50, f"only the files {files}")
    for file in files:
        name, text = file.relative_to(engine.ROOT), file.read_text(encoding="utf-8")
        for what, words in FORBIDDEN.items():
            for word in words:
                expect(word not in text, f"{name}: {what} by {word}")
        for url in re.findall(r"https?://[^\"'`\s)]+", text):
            expect(url.startswith("http://www.w3.org/"), f"{name}: {url}")  # names of SVG and MathML
        for found in table.findall(text) + re.findall(r"[\"'`][A-Za-z0-9+/=]{60,}[\"'`]", text):
            expect(False, f"{name}: perhaps a table of numbers: {found[:80]}")
