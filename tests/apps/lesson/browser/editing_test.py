"""What a reader changes, and takes back: numbers, the order of the tokens."""

import browser
import engine
from page import Page
from reading_test import LEFT, RIGHT, UP, press
from report import expect, expect_equal
from settings_test import expect_computed_like


def edits_in_address(page: Page) -> int:
    return page.call("addressNow").count("edit=")


def test_an_edit_is_taken_back():
    """Of a parameter, and of a number that was computed."""
    lesson = engine.decoder()
    page = Page(lesson)
    for step, key in (("query", "W_q"), ("scores", "Z")):
        page.go(step=step)
        cell = {"key": key, "row": 4, "column": 0}
        before = page.call("computed")["loss"]
        page.call("openCell", cell)
        page.call("fillIn", "#cell-edit", "0.75")
        page.call("finishPanel")
        expect_equal(page.cells([cell])[0]["number"], "0.75000000000000000", f"{key}: what was put in")
        expect(page.call("computed")["loss"] != before, f"{key}: the loss does not follow")
        expect_equal(edits_in_address(page), 1, f"{key}: edits in the address")
        said = browser.script("return document.querySelector('aside .arithmetic').textContent")
        expect("You put this number here" in said, f"{key}: where it is from: {said!r}")
        page.call("press", "undo")
        expect_equal(edits_in_address(page), 0, f"{key}: edits in the address, after undo")
        expect_computed_like(page, lesson.document, f"{key}, taken back")


def test_of_several_edits_one_is_taken_back_or_all():
    lesson = engine.decoder()
    page = Page(lesson, step="query")
    losses = [page.call("computed")["loss"]]
    for column in (0, 1):
        page.call("openCell", {"key": "W_q", "row": 0, "column": column})
        page.call("fillIn", "#cell-edit", "0.5")
        losses.append(page.call("computed")["loss"])
    expect_equal(len(set(losses)), 3, "losses")
    page.call("press", "undo")
    expect_equal(page.call("computed")["loss"], losses[1], "the loss, after the second was taken back")
    page.call("press", "as recorded")
    expect_equal(edits_in_address(page), 0, "edits in the address")
    expect_computed_like(page, lesson.document, "as recorded")


def test_keys_move_a_number():
    page = Page(engine.decoder(), step="query", cell="W_q.1.0")
    before = float(page.cells([{"key": "W_q", "row": 1, "column": 0}])[0]["number"])
    browser.script("document.querySelector('aside .drag').focus()")
    for _ in range(2):
        press("ArrowUp", UP)
    after = float(browser.script("return document.querySelector('#cell-edit').value"))
    expect(after > before, f"{before!r} became {after!r}")
    has_focus = browser.script("return document.activeElement === document.querySelector('aside .drag')")
    expect(has_focus, "it lost the focus")


def test_arrow_keys_move_a_token():
    lesson = engine.decoder()
    page = Page(lesson, step="softmax")
    texts = page.call("tokens")["texts"]
    expect_equal(texts, lesson.document.meta["texts"]["tokens"], "the tokens")
    page.call("focusToken", 0)
    for at in (1, 2):
        press("ArrowRight", RIGHT)
        moved = texts[1:at + 1] + texts[:1] + texts[at + 1:]
        expect_equal(page.call("tokens"), {"texts": moved, "focused": at}, f"after {at} times right")
    expect("order=1.2.0.3.4.5" in page.call("addressNow"), f"the address is {page.call('addressNow')}")
    names = page.call("rowNames")
    expect_equal(names[:3], moved[:3], "the names of the rows of P")
    for _ in range(3):  # the last has no effect
        press("ArrowLeft", LEFT)
    expect_equal(page.call("tokens"), {"texts": texts, "focused": 0}, "moved back")
    expect("order=" not in page.call("addressNow"), f"the address is {page.call('addressNow')}")
    expect_computed_like(page, lesson.document, "moved back")
