"""A page asks for nothing, complains of nothing, and checks its numbers before it shows them."""

import math
import json
import re

import browser
import engine
from page import Page, address
from report import expect, expect_equal
from sweep import quiet, sweep


def expect_quiet(page_file, found: dict, where: str) -> None:
    own = page_file.as_uri()
    asked = [url for url in found["requests"] if not url.startswith(("data:", "blob:")) and url.split("#")[0] != own]
    expect(not asked, f"{where}: asks for {asked}")
    expect(not found["console"], f"{where}: on the console: {found['console']}")


def expect_quiet_at_every_step(lesson) -> None:
    places = sweep(lesson)
    steps = {step["step"] for place in places for step in place["steps"]}
    expect(len(steps) >= 15, f"{lesson.name}: only the steps {steps}")
    for place in places:
        expect_quiet(lesson.page, place, f"{lesson.name}, {place['place']}")


def test_no_step_of_a_blackboard_makes_a_request_or_logs_an_error():
    expect_quiet_at_every_step(engine.three_words())


def test_no_step_of_a_decoder_makes_a_request_or_logs_an_error():
    expect_quiet_at_every_step(engine.decoder())


def test_no_step_of_an_encoder_decoder_makes_a_request_or_logs_an_error():
    expect_quiet_at_every_step(engine.encoder_decoder())


def test_no_step_of_a_classifier_makes_a_request_or_logs_an_error():
    expect_quiet_at_every_step(engine.classifier())


def test_no_step_with_rotary_positions_makes_a_request_or_logs_an_error():
    expect_quiet_at_every_step(engine.rotary())


def test_no_step_in_chinese_makes_a_request_or_logs_an_error():
    for lesson in engine.all_lessons():
        quiet()
        page = Page(lesson, lang="zh")
        states = [{"lang": "zh", "step": step} for step in page.steps()]
        for state, (_, missing) in zip(states, page.tour(states, "openSomeCell", "latinTexts")):
            expect(not missing, f"{lesson.name}, {state['step']}: not in Chinese: {missing}")
        expect_quiet(lesson.page, quiet(), f"{lesson.name}, in Chinese")


def test_an_address_opens_the_page_where_it_says():
    lesson = engine.decoder()
    layer = lesson.document.meta["layers"][0]
    steps = Page(lesson).steps()
    for step in steps[::5]:
        page = Page(lesson, layer=layer, step=step, lang="zh")
        shown = page.call("shown")
        expect_equal((shown["step"], shown["layer"]), (step, layer), f"opened at {step}")
        expect(shown["language"].startswith("zh"), f"{step}: in {shown['language']}")


def test_a_page_opens_at_the_query_that_was_asked_for():
    asked = ["--layer", "0", "--head", "1", "--position", "3"]
    lesson = engine.Lesson("decoder-at", [engine.decoder_run(), "--prompt", "012=", *asked])
    page = Page(lesson)
    shown = page.call("shown")
    expect_equal((shown["step"], shown["layer"]), ("softmax", lesson.document.meta["layers"][0]), "opened at")
    expect_equal(page.cell_name(), "P[3,0]", "the cell")
    address = page.call("addressNow")
    page.go(step="scores")
    expect_equal(page.cell_name(), None, f"a cell at another step than {address}")
    expect_equal(Page(engine.decoder()).call("shown")["step"], "glance", "where nothing was asked for")


def test_the_policy_in_the_page_forbids_requests():
    Page(engine.three_words())
    refused = browser.driver().execute_async_script("""
        const done = arguments[0];
        document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
        const image = new Image();
        image.src = "https://example.org/x.png";
        setTimeout(() => done(null), 3000);""")
    expect(refused in ("img-src", "default-src"), f"a picture from elsewhere: {refused}")
    quiet()


def test_numbers_computed_again_are_those_of_the_engine():
    for lesson in engine.all_lessons():
        Page(lesson)
        text = browser.script("return document.getElementById('recomputed').textContent")
        difference = re.search(r"[0-9.]+(e[−-]?[0-9]+)?", text)
        expect(difference and float(difference.group().replace("−", "-")) <= 1e-12, f"{lesson.name}: {text}")
        expect("✓" in text, f"{lesson.name}: {text}")


def test_a_page_without_numbers_of_the_engine_does_not_say_that_it_was_checked():
    lesson = engine.three_words()
    document = json.loads(engine.document_in(lesson.page))
    for value in document["values"]:
        if value["kind"] == "computed":
            value.pop("numbers", None)
    changed = engine.folder() / "unchecked.html"
    engine.write_with_document(lesson.page, json.dumps(document), changed)
    browser.open_page(changed, address(lang="en"))
    text = browser.script("return document.getElementById('recomputed').textContent")
    expect_equal(text, "not compared with the engine", "of nothing that was compared")


def test_a_page_whose_numbers_differ_from_the_engines_refuses_to_go_on():
    lesson = engine.three_words()
    weights = lesson.document.named["blocks.0.attention.weights"]
    [(_, numbers)] = lesson.document.values[weights]["numbers"].items()
    # The last base64 letters are of the highest bits of the last number.
    other = numbers[:-6] + ("A" if numbers[-6] != "A" else "B") + numbers[-5:]
    document = engine.document_in(lesson.page)
    expect(document.count(numbers) == 1, "the weights are not in the page, once")
    changed = engine.folder() / "changed.html"
    engine.write_with_document(lesson.page, document.replace(numbers, other), changed)
    browser.open_page(changed, address(lang="en"))
    shown = browser.script("""return {
        alert: document.querySelector('[role=alert]')?.textContent,
        grids: document.querySelectorAll('[role=grid]').length}""")
    expect(shown["alert"] and "weights" in shown["alert"], f"it says {shown['alert']!r}")
    expect_equal(shown["grids"], 0, "matrices shown all the same")


def test_a_page_has_less_than_two_megabytes_and_numbers_of_the_engine_to_compare():
    for lesson in [*engine.all_lessons(), engine.wide_encoder_decoder(), engine.deep_text()]:
        size = lesson.page.stat().st_size
        expect(size < 2_000_000, f"{lesson.name}: {size} bytes")
        page = Page(lesson)
        compared = browser.script("return document.getElementById('lesson').app.found.compared")
        expect(compared >= 1000 or lesson.name == "three-words", f"{lesson.name}: {compared} numbers are compared")
        expect(len(page.call("forms")) >= 1, f"{lesson.name}: in no other form")


def test_of_a_model_that_is_too_large_one_block_is_explained_and_the_page_says_so():
    lesson = engine.deep_text()
    layers = lesson.document.meta["layers"]
    page = Page(lesson, step="glance")
    shown = browser.script("""return {
        rows: [...document.querySelectorAll('main .layer-row h3')].map((row) => row.textContent),
        links: [...document.querySelectorAll('main a.tile')].map((tile) => tile.textContent),
        note: document.querySelector('.part-note')?.textContent,
        choice: [...document.querySelectorAll('select.layer option')].map((option) => option.value),
        loss: document.querySelector('header .loss').textContent}""")
    expect_equal(shown["rows"], [f"layer {i}" for i in range(4)], "layers at a glance, as they run")
    expect(shown["note"] and "layer 3" in shown["note"], f"the note says {shown['note']!r}")
    expect_equal(shown["choice"], [layers[3]], "the layers to choose from")
    expect(shown["links"] and all("layer 3" in text for text in shown["links"]), f"links lead to {shown['links']}")
    expect_equal(shown["loss"], f"loss {lesson.document.loss:.3g}", "the loss")
    page.go(scale=0)
    text = browser.script("return document.querySelector('header .loss').textContent")
    expect(text.startswith("Σ dY∘Y ") and ", was " in text, f"with a switch, the header says {text!r}")
    for state in ({}, {"layer": layers[0], "step": "softmax"}):
        page.go(**state)
        expect_equal(page.call("shown")["layer"], layers[3], f"at {state}")
    said = browser.console()
    expect(not said, f"on the console: {said}")


def test_of_the_largest_models_a_layer_keeps_its_maps_and_more_room_brings_the_rest():
    maps = {"query", "key", "value", "output", "softmax"}
    lesson = engine.long_text()
    expect(lesson.page.stat().st_size < 2_000_000, f"the page has {lesson.page.stat().st_size} bytes")
    page = Page(lesson, step="query")
    expect(maps <= set(page.steps()), f"the layer alone has {page.steps()}")
    expect(not page.call("badMarks"), f"marked as wrong: {page.call('badMarks')}")
    larger = engine.long_text("--max-size", "30")
    page = Page(larger, step="query")
    expect({*maps, "up", "down", "logits", "loss"} <= set(page.steps()), f"with more room there is {page.steps()}")


def test_a_trained_model_begins_at_its_sharpest_head():
    """The rows of P there have the least entropy, as a share of the most that they could have."""
    for lesson in (engine.decoder(), engine.encoder_decoder()):
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
