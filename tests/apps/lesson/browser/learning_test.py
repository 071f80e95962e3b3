"""Steps of gradient descent by hand: every number moves against its gradient, and every chapter follows."""
import math

import browser
import engine
from page import Page, decoded
from report import expect, expect_equal

SHOWN = """return {
  told: document.querySelector(".learning [role=status]")?.textContent ?? null,
  note: document.querySelector(".learning-note")?.textContent ?? "",
  loss: document.getElementById("lesson").app.lesson.tape.loss(),
  losses: document.getElementById("lesson").app.lesson.learning?.losses ?? [],
};"""

PRESS = "pageTests.all('.learning button')[{}].click()"


def gradients_of(document) -> dict:
    """Of every parameter that has one, as the engine computed them: by name."""
    found = {}
    for index, value in enumerate(document.values):
        if value["kind"] == "parameter" and value.get("gradient") is not None:
            found[value["name"]] = (document.numbers(index), document.numbers(value["gradient"]))
    return found


def test_a_small_step_lowers_the_loss_as_its_gradient_says():
    for lesson in (engine.three_words(), engine.decoder()):
        square = math.fsum(x * x for _, slopes in gradients_of(lesson.document).values() for x in slopes)
        page = Page(lesson, step="loss", rate="0.0001", learn="1")
        shown = browser.script(SHOWN)
        fall = shown["losses"][0] - shown["losses"][1]
        predicted = 1e-4 * square
        expect(math.isclose(fall, predicted, rel_tol=0.02), f"{lesson.name}: the loss fell by {fall}, not {predicted}")
        expect("fell by" in shown["told"], f"{lesson.name}: {shown['told']}")
        named = page.call("computed")["named"]
        for name, (numbers, slopes) in gradients_of(lesson.document).items():
            moved = decoded(named[name]["numbers"])
            wanted = [x - 1e-4 * slope for x, slope in zip(numbers, slopes)]
            wrong = [i for i, x in enumerate(moved) if not math.isclose(x, wanted[i], rel_tol=1e-9, abs_tol=1e-12)]
            expect(not wrong, f"{lesson.name}, {name}: element {wrong[:1]} did not move by η times its gradient")


def test_steps_follow_each_other_and_are_taken_back():
    page = Page(engine.three_words(), step="glance")
    start = browser.script(SHOWN)
    expect("A step moves every parameter" in start["told"] and not start["note"], f"before the first step: {start}")
    shares = page.call("computed")["named"]["blocks.0.attention.weights"]["numbers"]
    losses = [start["loss"]]
    for _ in range(3):
        browser.script(PRESS.format(0))
        losses.append(browser.script(SHOWN)["loss"])
    expect(losses == sorted(losses, reverse=True) and len(set(losses)) == 4, f"the losses are {losses}")
    expect(page.call("computed")["named"]["blocks.0.attention.weights"]["numbers"] != shares, "P stays the same")
    page.go(step="softmax", learn="3")
    shown = browser.script(SHOWN)
    expect("after 3 steps" in shown["note"], f"above another chapter: {shown['note']!r}")
    expect_equal(shown["loss"], losses[3], "the same address gives the same loss")
    browser.script("document.querySelector('.learning-note').click()")
    expect_equal(browser.script(SHOWN)["loss"], start["loss"], "taken back")


def test_too_long_a_step_is_told():
    page = Page(engine.three_words(), step="loss", rate="100", learn="1")
    shown = browser.script(SHOWN)
    expect(shown["loss"] > shown["losses"][0] and "η is too large" in shown["told"], f"with η = 100: {shown}")
    expect(not page.call("badMarks"), "what holds for every number does not hold any more")


def test_a_part_of_a_model_has_nothing_to_learn_by():
    Page(engine.deep_text(), step="glance", learn="2")
    expect_equal(browser.script(SHOWN)["told"], None, "learning of a part")
