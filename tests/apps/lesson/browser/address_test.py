"""An address is a state: who opens it sees what was seen where it was copied, and "back" leads back."""

from urllib.parse import parse_qsl

import browser
import engine
from page import Page, page_address
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
        {**here, "order": "1.0.2.3.4.5"}, {**here, "exercise": "Z.2.1", "cell": "Z.2.1"},
        {**here, "exercise": "Z.2.1", "cell": "Z.1.1", "break": "scale", "causal": 0, "window": 2, "theme": "dark",
         "edit": [f"{weight}.3=0.5"], "order": "3.0.2.1.4.5", "form": "model.position=none", "lang": "zh"},
    ]


def appearance(page: Page) -> dict:
    page.call("forms")  # they have come, when the list is there
    return page.call("appearance")


def differing(a: dict, b: dict) -> str:
    return "; ".join(f"{key}: {str(a[key])[:300]} and {str(b[key])[:300]}" for key in a if a[key] != b[key])


def test_an_address_has_every_kind_of_state():
    lesson = engine.decoder()
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
    for state, followed in zip(states_of(lesson), seen):
        opened = appearance(Page(lesson, **state))
        expect(opened == followed, f"{state}, opened anew: {differing(followed, opened)}")


def test_what_a_reader_does_keeps_the_rest_of_the_address():
    lesson = engine.decoder()
    page = Page(lesson)
    page.call("forms")
    for state in states_of(lesson):
        page.go(**state)
        page.call("press", "演示" if state.get("lang") == "zh" else "stage")
        shown = {"zoom": "fit", **state, "style": None if state.get("style") else "large"}
        wanted = set(parse_qsl(page_address(shown)[1:]))
        expect_equal(set(parse_qsl(page.call("addressNow")[1:])), wanted, f"{state}: the address")


def test_a_page_begins_in_the_language_that_it_was_made_for():
    def make(here):
        for language in ("en", "zh"):
            engine.call_well("explain", "--example", "bare", "--lang", language, "--out", here / f"{language}.html")

    made = engine.made_once("languages", [], make)
    for language in ("en", "zh"):
        browser.open_page(made / f"{language}.html", "")
        seen = browser.script("return document.body.innerText")
        expect(("演示" in seen) == (language == "zh"), f"{language}: the page says {seen[:200]}")
