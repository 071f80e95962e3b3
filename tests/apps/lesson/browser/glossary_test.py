"""Words and symbols say what they mean, and an empty panel says where to look."""
import browser
import engine
from page import Page
from report import expect, expect_equal


def test_terms_and_symbols_say_what_they_mean():
    page = Page(engine.decoder())
    for language in ("en", "zh"):
        states = [{"step": step, "lang": language} for step in page.steps()]
        for step, terms in zip(page.steps(), page.tour(states, "terms")):
            empty = [term["name"] for term in terms if not term["meaning"]]
            expect(not empty, f"{language}, {step}: no meaning of {empty}")
            is_chinese = any("\u4e00" <= c <= "\u9fff" for term in terms for c in term["meaning"])
            expect(not terms or is_chinese == (language == "zh"), f"{language}, {step}: {terms}")
    page.go(step="softmax", lang="en")
    meanings = {term["name"]: term["meaning"] for term in page.call("terms")}
    expect(meanings.get("Scores", "").startswith("A number that says how well"), f"words of the softmax: {meanings}")
    page.call("blur")
    expect(browser.script("return document.querySelector('.tip').hidden"), "a tip stays when the focus is gone")


def test_every_symbol_of_every_step_is_known():
    for lesson in (engine.three_words(), engine.decoder(), engine.encoder_decoder(), engine.classifier(), engine.rotary()):
        page = Page(lesson)
        for layer in page.layers():
            page.go(layer=layer)
            states = [{"layer": layer, "step": step} for step in page.steps()]
            for state, symbols in zip(states, page.tour(states, "symbols")):
                unknown = [name for name, is_known in symbols if not is_known]
                expect(not unknown, f"{lesson.name}, {state}: no meaning of {unknown}")


def test_an_empty_panel_offers_three_cells():
    page = Page(engine.three_words(), step="softmax")
    offered = browser.script("return pageTests.all('.suggestions button').map((each) => each.textContent)")
    expect_equal(len(offered), 3, "cells that are offered")
    for i, text in enumerate(offered):
        page.go(step="softmax", cell=None)
        browser.script(f"pageTests.all('.suggestions button')[{i}].click()")
        shown = browser.script("return document.getElementById('cell-name').textContent")
        expect_equal(shown, text.split(" = ")[0], "the cell that was offered")
