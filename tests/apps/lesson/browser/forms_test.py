"""Every form of model that trains has its page: each value of each key of [model] and [attention] at least once, and of
six of them each pair of values."""
import itertools

import browser
import engine
from page import Page
from report import expect, expect_equal

ATTENTION = ["heads", "scores", "softmax", "sum", "concat", "output"]
PRE = ["norm", "residual", "second_norm", "second_residual", "final_norm"]
POST = ["norm_after", "residual", "second_residual", "second_norm_after"]
MAPS = ["query", "key", "value", "ledger"]

# name: config, prompt, settings, steps that its last layer has, and those that it has not
FORMS = {
    "plain": ("reverse", "012=", ["model.position=sinusoidal"],
              [*ATTENTION, *PRE, *MAPS, "ledger_input", "scale", "mask"], POST[:1]),
    "post": ("reverse", "012=", ["model.norm=post", "model.norm_kind=rms", "model.activation=relu"],
             [*ATTENTION, *POST, *MAPS, "mask"], ["norm", "final_norm"]),
    "normless": ("reverse", "012=", ["model.norm=none", "model.position=rotary"],
                 [*ATTENTION, *MAPS, "residual", "second_residual", "query_rotation"],
                 ["norm", "norm_after", "second_norm", "final_norm", "ledger_input"]),
    "narrow": ("reverse", "012=", ["attention.heads=narrow", "model.position=none", "model.norm=post"],
               [*ATTENTION, *POST, *MAPS], ["norm"]),
    "wide": ("reverse", "012=", ["attention.heads=wide", "model.position=alibi", "attention.window=2"],
             [*ATTENTION, *PRE, *MAPS, "position_bias", "mask"], []),
    "shared-keys": ("reverse", "012=", ["attention.num_key_value_heads=1", "model.position=rotary"],
                    [*ATTENTION, *MAPS, "query_rotation", "key_rotation"], []),
    "one-map": ("reverse", "012=", ["attention.projections=shared", "model.position=relative"],
                [*ATTENTION, "query", "key", "value", "position_bias"], []),
    "two-maps": ("reverse", "012=", ["attention.projections=shared_key_value", "model.bias=false"],
                 [*ATTENTION, *MAPS], []),
    "bare": ("reverse", "012=", ["attention.projections=none", "model.scale_scores=false", "model.norm=post"],
             ["scores", "softmax", "sum", "ledger", *POST], ["query", "key", "value", "scale"]),
    "narrow-rotary": ("reverse", "012=", ["attention.heads=narrow", "model.position=rotary", "model.bias=false"],
                      [*MAPS, "query_rotation"], []),
    "encoder-decoder-post": ("reverse_seq2seq", "012=", ["model.norm=post", "model.norm_kind=rms"],
                             [*ATTENTION, *POST, "query", "key", "value", "ledger_memory"], ["mask"]),
    "encoder-decoder-narrow": ("reverse_seq2seq", "012=", ["attention.heads=narrow"],
                               [*ATTENTION, *PRE, "query", "key", "value", "ledger_memory"], []),
}


def lesson_of(name: str) -> engine.Lesson:
    config, prompt, settings, _, _ = FORMS[name]
    return lesson_of_one_block(f"form-{name}", config, prompt, settings)


def lesson_of_one_block(name: str, config: str, prompt: str, settings: list) -> engine.Lesson:
    run = engine.run(name, config, *engine.DIGITS, "model.num_layers=1", *settings)
    return engine.Lesson(name, [run, "--prompt", prompt])


def expect_form(name: str) -> None:
    _, _, _, has, has_not = FORMS[name]
    expect_page(name, lesson_of(name), has, has_not, "nextFrame")  # which draws each step


def expect_page(name: str, lesson: engine.Lesson, has: list, has_not: list, *looks) -> None:
    page = Page(lesson)
    for layer in dict.fromkeys((page.layers()[0], page.layers()[-1])):
        head = page.heads(layer) - 1
        page.go(layer=layer, head=head)
        steps = page.steps()
        if layer == page.layers()[-1]:
            missing = [step for step in has if step not in steps]
            expect(not missing, f"{name}, {layer}: no step {missing} among {steps}")
            expect(not set(has_not) & set(steps), f"{name}, {layer}: {set(has_not) & set(steps)} should not be there")
        states = [{"layer": layer, "head": head, "step": step} for step in steps]
        for state, (bad, cells, *_) in zip(states, page.tour(states, "badMarks", "lastCells", *looks)):
            where = f"{name}, {layer}, {state['step']}"
            keys = [cell["key"] for cell in cells]
            expect_equal(len(keys), len(set(keys)), f"{where}: names of matrices {keys}")
            for cell in cells:
                said = f"{cell['number']}, by differences {cell['numeric']}"
                expect(cell["verdict"] != "bad", f"{where}, {cell['name']}: {said}")
            expect(not bad, f"{where}: marked as wrong: {bad}")
    said = browser.console()
    expect(not said, f"{name}: on the console: {said}")


def test_every_place_of_norms_has_its_page():
    for name in ("plain", "post", "normless", "encoder-decoder-post"):
        expect_form(name)


def test_every_kind_of_heads_has_its_page():
    for name in ("narrow", "narrow-rotary", "wide", "shared-keys", "encoder-decoder-narrow"):
        expect_form(name)


def test_every_kind_of_projections_has_its_page():
    for name in ("one-map", "two-maps", "bare"):
        expect_form(name)


# What is combined with what: in every pair of values that go together.
CHOICES = {
    "config": ["reverse", "reverse_seq2seq"],
    "attention.projections": ["separate", "shared_key_value", "shared", "none"],
    "attention.heads": ["split", "narrow", "wide"],
    "model.position": ["none", "sinusoidal", "learned", "rotary", "alibi", "relative"],
    "model.norm": ["pre", "post", "none"],
    "attention.window": ["0", "2"],
}


def pairs_of(form: tuple) -> set:
    return set(itertools.combinations(enumerate(form), 2))


def forms_with_every_pair() -> list:
    """As few as a greedy choice finds."""
    def goes_together(form):
        return not ("none" == form[1] and form[2] != "split")  # without maps a head is a part of X

    forms = list(filter(goes_together, itertools.product(*CHOICES.values())))
    missing, chosen = set().union(*map(pairs_of, forms)), []
    while missing:
        chosen.append(max(forms, key=lambda form: len(pairs_of(form) & missing)))
        missing -= pairs_of(chosen[-1])
    return chosen


def expect_combined(form: tuple) -> None:
    config, *values = form
    maps, heads, position, norm, _ = values
    name = "-".join(form)
    settings = [f"{key}={value}" for key, value in zip(list(CHOICES)[1:], values)]
    lesson = lesson_of_one_block(f"pair-{name}", config, "012=", settings)
    has = [*ATTENTION[:-1], *{"pre": PRE, "post": POST, "none": ["residual", "second_residual"]}[norm]]
    has_not = {"pre": POST[:1], "post": ["norm", "final_norm"], "none": ["norm", "final_norm", *POST[:1]]}[norm]
    if maps != "none":
        has += ["query", "key", "value", "output"]
    if config == "reverse":
        is_rotated_alone = maps == "none" and position == "rotary"
        # Of one map queries, keys and values are one value; the rotation of X itself has no formula of its own.
        has += [] if maps == "shared" or is_rotated_alone else ["ledger"]
        has += {"alibi": ["position_bias"], "relative": ["position_bias"]}.get(position, [])
        has += ["query_rotation", "key_rotation"] if position == "rotary" and maps != "none" else []
    expect_page(name, lesson, has, has_not)


def test_every_pair_of_choices_has_its_page():
    for form in forms_with_every_pair():
        expect_combined(form)
