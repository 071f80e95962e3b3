"""A text of the reader's own: the page computes for it what the engine does."""
import math

import browser
import engine
from page import Page, decoded
from report import expect, expect_equal


def test_another_prompt_computes_what_the_engine_does_with_it():
    lesson = engine.decoder()
    vocabulary = lesson.document.meta["vocabulary"]
    other = engine.Lesson("decoder-other", [engine.decoder_run(), "--prompt", "403=", "--target", "304"])
    tokens = other.document.meta["texts"]["tokens"]
    page = Page(lesson, step="glance", prompt=".".join(str(vocabulary.index(token)) for token in tokens))
    computed = page.call("computed")
    for name in ("blocks.0.attention.weights", "blocks.1.output", "logits"):
        wanted = other.document.numbers(other.document.named[name])
        shown = decoded(computed["named"][name]["numbers"])
        worst = max(abs(a - b) for a, b in zip(wanted, shown, strict=True) if math.isfinite(a))
        expect(worst < 1e-12, f"{name} is off by {worst}")
    page.go(step="softmax", prompt=".".join(str(vocabulary.index(token)) for token in tokens))
    names = browser.script("return document.getElementById('lesson').app.lesson.chapters.queries")
    expect_equal(names, tokens, "names of rows")
    expect(not page.call("badMarks"), f"marked as wrong: {page.call('badMarks')}")


def test_a_token_is_chosen_in_the_opening_and_targets_follow():
    lesson = engine.three_words()
    page = Page(lesson, step="glance")
    before = page.call("computed")["loss"]
    browser.script("""const select = pageTests.all("select.token")[1];
        select.value = "3";
        select.dispatchEvent(new Event("change", {bubbles: true}));""")
    texts = browser.script("return pageTests.all('.texts dd').map((each) => each.textContent)")
    expect_equal(texts[1], "dreamadream", "wanted: the next token follows")
    expect(page.call("computed")["loss"] != before and "prompt=0.3.2" in page.call("addressNow"), "nothing follows")
    page.call("press", "as recorded")
    expect_equal(page.call("computed")["loss"], before, "taken back")


def test_a_prompt_that_does_not_fit_is_left_aside():
    page = Page(engine.three_words(), step="glance")
    before = page.call("computed")["loss"]
    for prompt in ("0.1", "0.1.2.3", "0.1.99", "a.b.c", "-1.0.0"):
        page.go(step="glance", prompt=prompt)
        expect_equal(page.call("computed")["loss"], before, f"the loss with prompt={prompt}")
    said = browser.console()
    expect(not said, f"on the console: {said}")
