"""The chapter that moves through the steps of training."""

import base64
import math
import struct

import arithmetic
import browser
import engine
from page import Page, decoded
from report import expect, expect_equal

FRAME = """
    const slider = document.querySelector("#training-step");
    slider.value = arguments[0];
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    slider.dispatchEvent(new Event("change", { bubbles: true }));
    const textOf = (node) => node.textContent.trim();
    return {
      said: slider.getAttribute("aria-valuetext"),
      address: location.hash,
      rows: [...document.querySelectorAll(".series tbody tr")].map((row) =>
        [textOf(row.querySelector("th")), textOf(row.querySelector(".now"))]),
      heads: [...document.querySelectorAll(".training .tile .facts")].map(textOf),
      alpha: [...document.querySelectorAll(".training canvas")].map((canvas) =>
        [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data].filter((_, i) => i % 4 === 0)),
    };"""


def is_said(text: str, expected: float) -> bool:
    """In three digits."""
    return abs(arithmetic.number(text) - expected) <= 0.006 * abs(expected) + 1e-300


def weights_of(frame: dict, layer: str) -> tuple:
    """Heads, rows, columns and the shares."""
    matrix = frame["weights"][layer]
    data = base64.b64decode(matrix["f32"])
    return matrix["shape"][-3:], struct.unpack(f"<{len(data) // 4}f", data)


def entropies(frame: dict) -> list:
    found = []
    for layer in frame["weights"]:
        (heads, rows, columns), shares = weights_of(frame, layer)
        for head in range(heads):
            own = shares[head * rows * columns:(head + 1) * rows * columns]
            found.append(-sum(p * math.log(p) for p in own if p > 0) / rows)
    return found


def test_the_slider_shows_the_history_of_the_document():
    lesson = engine.decoder()
    history = lesson.document.json["history"]
    assert len(history) >= 3
    Page(lesson, step="training")
    seen = [browser.script(FRAME, i) for i in range(len(history))]
    for frame, shown in zip(history, seen):
        expect_equal(shown["said"], f"step {frame['step']} of {history[-1]['step']}", "the slider")
        expect(f"at={frame['step']}" in shown["address"], f"the address is {shown['address']}")
        expected = [frame["loss"], *entropies(frame), *frame["gradient_norms"].values()]
        expect_equal(len(shown["rows"]), len(expected), "lines of the table")
        for (name, text), value in zip(shown["rows"], expected):
            expect(is_said(text, value), f"step {frame['step']}, {name}: {text}, expected {value}")
        for text, value in zip(shown["heads"], entropies(frame), strict=True):
            expect(is_said(text.removeprefix("entropy "), value), f"step {frame['step']}, a head: {text}, expected {value}")
    first, last = seen[0]["alpha"], seen[-1]["alpha"]
    (_, rows, columns), shares = weights_of(history[0], next(iter(history[0]["weights"])))
    expect_equal(len(first[0]), rows * columns, "pixels of the first map")
    expect(first != last, "the maps of the first and the last step are the same")
    by_share = [red for _, red in sorted(zip(shares, first[0]))]
    expect(by_share == sorted(by_share, reverse=True), "a larger share is not further from the paper's colour")
    browser.script("""
        const said = document.querySelector("#training-step ~ output");
        window.seen = [];
        new MutationObserver(() => window.seen.push(said.textContent)).observe(said, { childList: true });
        document.querySelector(".training-slider button").click();""")
    browser.wait_for("const ask = () => window.seen.length === arguments[0] ? done() : setTimeout(ask, 50); ask();",
                     len(history))
    expect_equal(browser.script("return window.seen"), [shown["said"] for shown in seen], "the film")
    browser.leave()
    Page(lesson, step="training", at=history[1]["step"])
    said = browser.script("return document.querySelector('.training output').textContent")
    expect(said.startswith(f"step {history[1]['step']} of "), f"the slider says {said}")
    expect("training" not in Page(engine.three_words()).steps(), "three words have no history")


def test_the_step_of_training_drives_every_chapter():
    lesson = engine.decoder()
    history = lesson.document.json["history"]
    expect_equal(history[0]["step"], 0, "the first step")
    page = Page(lesson, step="softmax")
    losses = set()
    for frame in history:
        page.go(step="softmax", at=frame["step"])
        computed = page.call("computed")
        expect(math.isclose(float(computed["loss"]), frame["loss"], rel_tol=1e-12),
               f"step {frame['step']}: the loss is {computed['loss']}, the engine's {frame['loss']}")
        losses.add(computed["loss"])
        for layer in frame["weights"]:
            _, shares = weights_of(frame, layer)
            shown = decoded(computed["named"][f"{layer}.weights"]["numbers"])
            expect(max(abs(a - b) for a, b in zip(shares, shown, strict=True)) < 1e-6, f"step {frame['step']}: P of {layer}")
        expect(not page.call("badMarks"), f"step {frame['step']}: marked as wrong: {page.call('badMarks')}")
        text = browser.script("return document.querySelector('.training-field').textContent")
        expect(f" {frame['step']} " in text, f"the slider says {text!r}")
    expect_equal(len(losses), len(history), "losses of the steps")


def test_step_0_is_what_training_began_with():
    """Without a learning rate nothing moves: the first step is the last, to the bits of f32."""
    still = ["optimizer.learning_rate=0", "optimizer.min_learning_rate=0", "optimizer.weight_decay=0"]
    lesson = engine.Lesson("still", [engine.run("still", "reverse", *engine.DIGITS, *still), "--prompt", "012="])
    history = lesson.document.json["history"]
    expect_equal((history[0]["step"], history[-1]["step"]), (0, 12), "the steps")
    expect(math.isclose(history[0]["loss"], history[-1]["loss"], rel_tol=1e-6),
           f"the losses are {history[0]['loss']} and {history[-1]['loss']}")
