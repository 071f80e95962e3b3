"""What nobody expects: names and prompts that look like markup, the smallest of models, numbers that are none."""

import json
import tempfile
import zlib
from pathlib import Path

import browser
import engine
from page import Page
from report import expect, expect_equal
from settings_test import changed_run

HOSTILE = "@=+-</script><script>window.broken=1</script>'\"`${1}&lt;😀中文<b>\\\r,\n\x01"
NAME = "<script>window.broken=1<b>'\"`${1}&lt;😀中文\\"  # a folder's: without /
SMALLEST = ["data.length=12", "model.num_layers=1"]


def text_run(name: str, *settings: str):
    """On a text whose every character is dangerous."""
    config = (f"name = {json.dumps(NAME, ensure_ascii=False)}\n[data]\ntask = \"text\"\n"
              "[model]\nkind = \"decoder\"\n[optimizer]\nkind = \"adamw\"\n[train]\nsteps = 1\n")

    def write(here):
        (here / "hostile.txt").write_text(HOSTILE * 40, encoding="utf-8")
        (here / "hostile.toml").write_text(config, encoding="utf-8")

    here = engine.made_once(f"hostile-text-{zlib.crc32(HOSTILE.encode()):x}", [config, HOSTILE], write)
    path = f"data.path={json.dumps(str(here / 'hostile.txt'))}"
    return engine.run(name, str(here / "hostile.toml"), *SMALLEST, path, *settings)


def expect_whole(lesson, **state) -> None:
    """All steps of it are shown, without a complaint, and nothing of its texts has become markup."""
    browser.console()
    page = Page(lesson, **state)
    steps = page.steps()
    states = [{**state, "step": step} for step in steps]
    for step, (cells, _) in zip(steps, page.tour(states, "lastCells", "nextFrame")):
        for cell in cells:
            expect(cell["number"] is not None, f"{lesson.name}, {step}, {cell['name']}: no number")
            expect(cell["result"] in ("good", None), f"{lesson.name}, {step}, {cell['name']}: {cell['result']}")
            expect(cell["verdict"] in ("good", None), f"{lesson.name}, {step}, {cell['name']}: {cell['verdict']}")
    said = browser.console()
    expect(not said, f"{lesson.name}: on the console: {said}")
    found = browser.script("""
        return [window.broken ?? null, document.querySelectorAll('#lesson b, #lesson script').length]""")
    expect_equal(found, [None, 0], f"{lesson.name}: markup from a text")


def test_names_and_prompts_that_look_like_markup_are_texts():
    lesson = engine.Lesson("hostile", [text_run("hostile"), "--prompt", "</b>\"", "--target", "'😀中"])
    tokens = lesson.document.meta["texts"]["tokens"]
    expect_equal(tokens, ["<", "/", "b", ">", '"', "'", "😀"], "the tokens")
    expect_whole(lesson)
    shown = browser.script("return [document.title, document.querySelector('h1').textContent]")
    expect_equal(shown, [lesson.document.meta["name"]] * 2, "the name")


def test_one_token_is_enough():
    lesson = engine.Lesson("one-token", [text_run("hostile"), "--prompt", "中文"])
    expect_equal(lesson.document.meta["texts"]["tokens"], ["中"], "the tokens")
    expect_whole(lesson)


def test_one_head_of_all_numbers_and_heads_of_one_number_are_explained():
    for heads in (1, 8):
        run = engine.run(f"heads-{heads}", "reverse", *engine.DIGITS, "model.num_layers=1", f"model.num_heads={heads}")
        expect_whole(engine.Lesson(f"heads-{heads}", [run, "--prompt", "012="]))


def test_a_run_that_has_hardly_begun_is_explained():
    run = engine.run("begun", "reverse", *engine.DIGITS, "train.steps=1", "train.eval_interval=1",
                     "optimizer.learning_rate=0.0", "optimizer.min_learning_rate=0.0", "model.num_layers=1")
    expect_whole(engine.Lesson("begun", [run, "--prompt", "012="]))


def test_weights_that_are_no_numbers_are_refused_in_a_sentence():
    def change(name, numbers):
        if name == "blocks.0.attention.query.weight":
            numbers[0] = float("nan")

    run = changed_run(engine.decoder_run(), "nan", change)
    result = engine.call("explain", run, "--prompt", "012=", "--out", engine.folder() / "nan.html")
    expect(result.returncode != 0, "a model with NaN is explained")
    expect(result.stderr.startswith("error: ") and result.stderr.count("\n") == 1, f"it says {result.stderr!r}")
    expect("blocks.0.attention.query.weight" in result.stderr or "not finite" in result.stderr
           or "NaN" in result.stderr, f"it does not say what is wrong: {result.stderr!r}")


def test_no_script_runs_but_the_page_s_own():
    lesson = engine.three_words()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lesson.html"
        source = lesson.page.read_text(encoding="utf-8")
        file.write_text(source.replace("</body>", "<script>window.intruder = true</script></body>"), encoding="utf-8")
        browser.open_page(file)
        expect(browser.script("return document.querySelector('main h2') !== null"), "the page itself does not run")
        expect(not browser.script("return window.intruder ?? false"), "another script runs")
    browser.console()  # which tells of the one that was refused
