"""A page opens where its address says, checks its numbers before it shows them, and bears what nobody expects."""

import json
import math
import re
from urllib.parse import parse_qsl

import browser
import engine
from page import Page, address, page_address
from report import expect, expect_equal

LAYER = "blocks.1.attention"


def states_of(lesson) -> list:
    """One of each kind, on a step where it can be seen."""
    weight = lesson.document.named[f"{LAYER}.query.weight"]
    here = {"layer": LAYER, "step": "scores", "head": 0}
    return [
        {**here, "step": "output"}, {**here, "layer": "blocks.0.attention"}, {**here, "head": 1},
        {**here, "cell": "Z.2.1"}, {**here, "cell": "dQ.1.0"}, {**here, "zoom": "numbers"}, {**here, "style": "large"},
        {**here, "theme": "dark"}, {**here, "lang": "zh"}, {**here, "break": "transpose"},
        {**here, "form": "model.num_heads=1"}, {**here, "causal": 0}, {**here, "scale": 0}, {**here, "bias": 0},
        {**here, "residual": 0}, {**here, "window": 1}, {**here, "edit": [f"{weight}.3=0.5", f"{weight}.4=-2"]},
        {**here, "prompt": "1.0.2.5.2.1"}, {**here, "exercise": "Z.2.1", "cell": "Z.2.1"},
        {**here, "exercise": "Z.2.1", "cell": "Z.1.1", "break": "scale", "causal": 0, "window": 2, "theme": "dark",
         "edit": [f"{weight}.3=0.5"], "form": "model.position=none", "lang": "zh"},
    ]


def appearance(page: Page) -> dict:
    page.call("forms")  # they have come, when the list is there
    return page.call("appearance")


def differing(a: dict, b: dict) -> str:
    return "; ".join(f"{key}: {str(a[key])[:300]} and {str(b[key])[:300]}" for key in a if a[key] != b[key])


def test_an_address_has_every_kind_of_state():
    """Who opens it sees what was seen where it was copied, "back" leads back, and what a reader does keeps the rest."""
    lesson = engine.decoder()
    browser.leave()
    page = Page(lesson, layer=LAYER, step="scores", head=0)
    before = appearance(page)
    seen = []
    for state in states_of(lesson):
        page.call("follow", page_address(state))
        followed = appearance(page)
        expect(followed not in [before, *seen], f"{state} looks like another, or like nothing")
        seen.append(followed)
        page.call("goBack")
        after = appearance(page)
        expect(after == before, f"back from {state}: {differing(before, after)}")
    for state, followed in [*zip(states_of(lesson), seen)][::3]:  # the last has most of them
        browser.leave()
        page = Page(lesson, **state)
        opened = appearance(page)
        expect(opened == followed, f"{state}, opened anew: {differing(followed, opened)}")
        page.call("press", "演示" if state.get("lang") == "zh" else "stage")
        shown = {"zoom": "fit", **state, "style": None if state.get("style") else "large"}
        wanted = set(parse_qsl(page_address(shown)[1:]))
        expect_equal(set(parse_qsl(page.call("addressNow")[1:])), wanted, f"{state}: the address")


def test_a_page_opens_at_the_query_that_was_asked_for():
    asked = ["--layer", "0", "--head", "1", "--position", "3"]
    lesson = engine.Lesson("decoder-at", [engine.decoder_run(), "--prompt", "012=", *asked])
    page = Page(lesson)
    shown = page.call("shown")
    expect_equal((shown["step"], shown["layer"]), ("softmax", lesson.document.meta["layers"][0]), "opened at")
    expect_equal(page.cell_name(), "P[3,0]", "the cell")
    page.go(step="scores")
    expect_equal(page.cell_name(), None, "a cell at another step")


def test_a_trained_model_begins_with_the_opening_and_at_its_sharpest_head():
    """The rows of P there have the least entropy, as a share of the most that they could have."""
    for lesson in (engine.decoder(), engine.encoder_decoder()):
        browser.leave()
        expect_equal(Page(lesson).shown_step(), "opening", f"{lesson.name}: where nothing was asked for")
        flatness = {}
        for layer in lesson.document.meta["layers"]:
            value = lesson.document.named[f"{layer}.weights"]
            _, heads, rows, columns = lesson.document.shape(value)
            numbers = lesson.document.numbers(value)
            for head in range(heads):
                entropy = most = 0.0
                for row in range(head * rows, (head + 1) * rows):
                    seen = [p for p in numbers[row * columns:(row + 1) * columns] if p > 0]
                    entropy -= math.fsum(p * math.log(p) for p in seen)
                    most += math.log(len(seen))
                flatness[layer, head] = entropy / most
        begin = lesson.document.meta["begin"]
        expect_equal((begin["layer"], begin["head"]), min(flatness, key=flatness.get), f"{lesson.name}: of {flatness}")


def test_no_script_runs_but_the_pages_own_and_its_policy_forbids_requests():
    lesson = engine.three_words()
    file = engine.folder() / "intruder.html"
    source = lesson.page.read_text(encoding="utf-8")
    file.write_text(source.replace("</body>", "<script>window.intruder = true</script></body>"), encoding="utf-8")
    browser.open_page(file)
    expect(browser.script("return document.querySelector('main h2') !== null"), "the page itself does not run")
    expect(not browser.script("return window.intruder ?? false"), "another script runs")
    refused = browser.wait_for("""
        document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
        const image = new Image();
        image.src = "https://example.org/x.png";
        setTimeout(() => done(null), 3000);""")
    expect(refused in ("img-src", "default-src"), f"a picture from elsewhere: {refused}")


RECOMPUTED = "const mark = document.getElementById('recomputed'); return [mark.textContent, mark.title];"


def test_numbers_computed_again_are_those_of_the_engine_and_a_page_has_less_than_two_megabytes():
    for lesson in [*engine.all_lessons(), engine.wide_encoder_decoder(), engine.deep_text()]:
        size = lesson.page.stat().st_size
        expect(size < (250_000 if lesson.name == "three-words" else 2_000_000), f"{lesson.name}: {size} bytes")
        page = Page(lesson)
        mark, text = browser.script(RECOMPUTED)
        difference = re.search(r"difference is ([0-9.]+(e−[0-9]+)?)", text)
        expect(difference and float(difference.group(1).replace("−", "-")) <= 1e-12, f"{lesson.name}: {text}")
        expect_equal(mark, "✓", lesson.name)
        compared = browser.script("return document.getElementById('lesson').app.found.compared")
        expect(compared >= 1000 or lesson.name == "three-words", f"{lesson.name}: {compared} numbers are compared")
        expect(len(page.call("forms")) >= 1, f"{lesson.name}: in no other form")


def opened_with(change) -> None:
    """The page of three words, whose document was changed."""
    lesson = engine.three_words()
    changed = engine.folder() / "changed.html"
    engine.write_with_document(lesson.page, change(engine.document_in(lesson.page)), changed)
    browser.open_page(changed, address(lang="en"))


def test_a_page_without_numbers_of_the_engine_does_not_say_that_it_was_checked():
    def without_numbers(text):
        document = json.loads(text)
        for value in document["values"]:
            if value["kind"] == "computed":
                value.pop("numbers", None)
        return json.dumps(document)

    opened_with(without_numbers)
    expect_equal(browser.script(RECOMPUTED)[0], "not compared with the engine", "of nothing that was compared")


def test_a_page_whose_numbers_differ_from_the_engines_refuses_to_go_on():
    document = engine.three_words().document
    [numbers] = document.values[document.named["blocks.0.attention.weights"]]["numbers"].values()
    # The last base64 letters are of the highest bits of the last number.
    other = numbers[:-6] + ("A" if numbers[-6] != "A" else "B") + numbers[-5:]
    opened_with(lambda text: text.replace(numbers, other))
    shown = browser.script("""return {
        alert: document.querySelector('[role=alert]')?.textContent,
        grids: document.querySelectorAll('[role=grid]').length}""")
    expect(shown["alert"] and "weights" in shown["alert"], f"it says {shown['alert']!r}")
    expect_equal(shown["grids"], 0, "matrices shown all the same")


def test_of_a_model_that_is_too_large_one_block_is_explained_and_the_page_says_so():
    lesson = engine.deep_text()
    layers = lesson.document.meta["layers"]
    page = Page(lesson, step="glance")
    shown = browser.script("""return {
        rows: [...document.querySelectorAll('main .layer-row h3')].map((row) => row.textContent),
        links: [...document.querySelectorAll('main a.tile')].map((tile) => tile.textContent),
        note: document.querySelector('.part-note')?.textContent,
        choice: document.querySelector('select.layer'),
        loss: document.querySelector('header .loss').textContent}""")
    expect_equal(shown["rows"], [f"layer {i}" for i in range(4)], "layers at a glance, as they run")
    expect(shown["note"] and "layer 3" in shown["note"], f"the note says {shown['note']!r}")
    expect_equal(shown["choice"], None, "a choice of one layer")
    expect(shown["links"] and all("layer 3" in text for text in shown["links"]), f"links lead to {shown['links']}")
    expect_equal(shown["loss"], f"loss {lesson.document.loss:.3g}", "the loss")
    page.go(scale=0)
    text = browser.script("return document.querySelector('header .loss').textContent")
    expect(text.startswith("Σ dY∘Y ") and ", was " in text, f"with a switch, the header says {text!r}")
    for state in ({}, {"layer": layers[0], "step": "softmax"}):
        page.go(**state)
        expect_equal(page.call("shown")["layer"], layers[3], f"at {state}")
    browser.expect_quiet(lesson.page, lesson.name)


def test_of_the_largest_models_a_layer_keeps_its_maps_and_more_room_brings_the_rest():
    maps = {"query", "key", "value", "output", "softmax"}
    lesson = engine.long_text()
    expect(lesson.page.stat().st_size < 2_000_000, f"the page has {lesson.page.stat().st_size} bytes")
    page = Page(lesson, step="query")
    expect(maps <= set(page.steps()), f"the layer alone has {page.steps()}")
    expect(not page.call("badMarks"), f"marked as wrong: {page.call('badMarks')}")
    page = Page(engine.long_text("--max-size", "30"), step="query")
    expect({*maps, "up", "down", "logits", "loss"} <= set(page.steps()), f"with more room there is {page.steps()}")


def expect_whole(lesson) -> None:
    """All steps of it are shown, without a complaint, and nothing of its texts has become markup."""
    page = Page(lesson)
    for where, _, (cells, _) in page.every_step("lastCells", "nextFrame"):
        for cell in cells:
            expect(cell["number"] is not None, f"{where}, {cell['name']}: no number")
            expect(cell["result"] in ("good", None), f"{where}, {cell['name']}: {cell['result']}")
            expect(cell["verdict"] in ("good", None), f"{where}, {cell['name']}: {cell['verdict']}")
    browser.expect_quiet(lesson.page, lesson.name)
    found = browser.script("""
        return [window.broken ?? null, document.querySelectorAll('#lesson b, #lesson script').length]""")
    expect_equal(found, [None, 0], f"{lesson.name}: markup from a text")


def test_names_and_prompts_that_look_like_markup_are_texts_and_one_token_is_enough():
    for name, prompt, tokens in (("hostile", ["</b>\"", "--target", "'😀中"], ["<", "/", "b", ">", '"', "'", "😀"]),
                                 ("one-token", ["中文"], ["中"])):
        lesson = engine.Lesson(name, [engine.hostile_run(), "--prompt", *prompt])
        expect_equal(lesson.document.meta["texts"]["tokens"], tokens, "the tokens")
        expect_whole(lesson)
        shown = browser.script("return [document.title, document.querySelector('h1').textContent]")
        expect_equal(shown, [engine.HOSTILE_NAME] * 2, "the name")


def test_weights_that_are_no_numbers_are_refused_in_a_sentence():
    def change(name, numbers):
        if name == "blocks.0.attention.query.weight":
            numbers[0] = float("nan")

    run = engine.changed_run(engine.decoder_run(), "nan", change)
    result = engine.call("explain", run, "--prompt", "012=", "--out", engine.folder() / "nan.html")
    expect(result.returncode != 0, "a model with NaN is explained")
    expect(result.stderr.startswith("error: ") and result.stderr.count("\n") == 1, f"it says {result.stderr!r}")
    expect("blocks.0.attention.query.weight" in result.stderr or "not finite" in result.stderr
           or "NaN" in result.stderr, f"it does not say what is wrong: {result.stderr!r}")
