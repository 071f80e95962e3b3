"""A page that trains a model from nothing: as `qkv train` does, whatever is changed, and with a mistake worse."""

import json
import shlex
import shutil
from functools import cache

import browser
import engine
from page import Page
from report import expect, expect_equal

STEPS = 60
STATE = """const { lesson } = document.getElementById("lesson").app;
  const { descent, learning: { steps } } = lesson;
  return { losses: descent.points.map(({ loss }) => loss), norms: descent.points.map(({ norm }) => norm), steps,
           right: [...document.querySelectorAll(".questions output.good")].length,
           all: document.querySelectorAll(".questions output").length,
           said: document.querySelector(".questions [role=status]").textContent,
           command: document.querySelector(".practice-command code")?.textContent ?? null,
           dark: [...document.querySelectorAll(".practice-map")].map((map) =>
             [...map.querySelectorAll("i")].map((cell) => Number(cell.style.getPropertyValue("--amount")))) };"""


@cache
def lesson() -> engine.Lesson:
    return engine.example("learn")


def learned(**state) -> dict:
    Page(lesson(), step="practice", learn=STEPS, **state)
    return browser.script(STATE)


def losses_of_training(name: str, command: str) -> list:
    """Of the files that the page saves, by the command that it names."""
    here = engine.folder() / "practice" / name
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    for file in Page(lesson(), **state_of(name)).call("trainingFiles"):
        (here / file["name"]).write_text(file["text"], encoding="utf-8")
    program, verb, config, *settings = shlex.split(command)
    expect_equal((program, verb), ("./qkv", "train"), "the command")
    engine.call_well(verb, here / config, *settings, "--set", f"train.steps={STEPS}", "--out", here / "run")
    lines = (here / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["loss"] for line in lines]


COPY = ".".join(f"{a}{b}{c}" for a in "012" for b in "012" for c in "012")
STATES = {"as it is": {}, "rate": {"rate": "0.004"}, "heads": {"form": "model.num_heads=2"}, "mask": {"causal": 0},
          "window": {"window": 3, "scale": 0}, "copy": {"pairs": COPY}}


def state_of(name: str) -> dict:
    return {"step": "practice", "learn": STEPS, **STATES[name]}


def test_its_losses_are_those_of_training_whatever_is_changed():
    seen = []
    for name, state in STATES.items():
        shown = learned(**state)
        ours = shown["losses"][:STEPS]
        theirs = losses_of_training(name, shown["command"])
        apart = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
        expect(apart <= 1e-9, f"{name}: the losses are up to {apart} apart: {ours[-3:]}, {theirs[-3:]}")
        expect(ours not in seen, f"{name}: as another")
        seen.append(ours)


def test_it_learns_from_nothing_and_sees_where_to_look():
    Page(lesson())
    begun = browser.script(STATE)
    expect_equal((begun["steps"], begun["all"]), (0, 27), "at the beginning")
    expect(begun["right"] <= 9, f"without learning: {begun['said']}")
    page = Page(lesson(), step="practice", learn=120)
    shown = browser.script(STATE)
    expect(shown["right"] >= 0.95 * 27, f"after 120 steps: {shown['said']}")
    expect(shown["norms"][-1] < 0.1 * shown["norms"][0], f"the gradient: {shown['norms'][0]}, {shown['norms'][-1]}")
    [shares] = shown["dark"]
    backwards = [shares[7 * row + 5 - row] for row in (3, 4, 5)]
    expect(min(backwards) > 0.8, f"the symbols of the answer look at those of the question by {backwards}")
    page.call("press", "222")
    expect("prompt=4.4.4.0.4.4.4" in page.call("addressNow"), f"another question: {page.call('addressNow')}")
    expect_equal(browser.script(STATE)["losses"], shown["losses"], "which changes nothing that was learned")
    page.call("press", "back to the start")
    expect_equal(browser.script(STATE)["steps"], 0, "at the start again")
    browser.leave()
    page = Page(lesson(), step="practice")
    browser.script("""const { descent } = document.getElementById("lesson").app.lesson;
        const tapeAt = descent.tapeAt.bind(descent);
        descent.tapeAt = (steps) => {
          for (const end = performance.now() + 100; performance.now() < end;);
          return tapeAt(steps);
        };""")
    page.call("press", "▶ it learns")
    running = "document.getElementById('lesson').app.lesson.learning.steps > 5"
    expect(browser.comes_true(running), "it does not run")
    page.call("press", "■ stop")
    losses = browser.script(STATE)["losses"]
    expect_equal(losses, shown["losses"][:len(losses)], "the losses of slow steps")


def test_other_answers_are_learned_too_and_those_never_seen_only_where_there_is_a_rule():
    page = Page(lesson(), step="practice", learn=150, pairs=COPY)
    expect_equal(browser.script(STATE)["right"], 27, "a copy")
    browser.script("""const field = document.querySelector(".questions input");
        field.value = "210";
        field.dispatchEvent(new Event("change"));""")
    expect("pairs=210." in page.call("addressNow"), "an answer that was typed in")
    expect_equal(browser.script("return document.querySelector('.questions select').value"), "own", "the task")
    browser.script("""const field = document.querySelector(".questions input");
        field.value = "21x";
        field.dispatchEvent(new Event("change"));""")
    expect_equal(browser.script("return document.querySelector('.questions input').value"), "210", "no answer")


def test_with_a_mistake_it_still_learns_but_worse_and_no_command_says_so():
    right = learned()["losses"]
    for mistake in ("row_sum", "transpose", "overwritten", "residual"):
        shown = learned(**{"break": mistake})
        # Without the gradient past the layer these few steps go as well as with it.
        is_worse = mistake == "residual" or shown["losses"][-1] > 1.05 * right[-1]
        expect(is_worse, f"{mistake}: {shown['losses'][-1]} is as good as {right[-1]}")
        expect(shown["losses"][-1] < 0.9 * right[0], f"{mistake}: nothing is learned: {shown['losses'][-1]}")
        expect(shown["losses"] != right, f"{mistake}: it is not planted")
        expect_equal(shown["command"], None, f"{mistake}: the command")
