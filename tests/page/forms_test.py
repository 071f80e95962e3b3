"""Every form of model that trains has its page: each value of each key of [model] and [attention] at least once."""
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
    return engine.Lesson(f"form-{name}", [engine.run(f"form-{name}", config, *engine.DIGITS, *settings), "--prompt", prompt])


def expect_form(name: str) -> None:
    _, _, _, has, has_not = FORMS[name]
    lesson = lesson_of(name)
    page = Page(lesson)
    for layer in (page.layers()[0], page.layers()[-1]):
        head = page.heads(layer) - 1
        page.go(layer=layer, head=head)
        steps = page.steps()
        if layer == page.layers()[-1]:
            missing = [step for step in has if step not in steps]
            expect(not missing, f"{name}, {layer}: no step {missing} among {steps}")
            expect(not set(has_not) & set(steps), f"{name}, {layer}: {set(has_not) & set(steps)} should not be there")
        states = [{"layer": layer, "head": head, "step": step} for step in steps]
        for state, matrices in zip(states, page.tour(states, "wholeStep")):
            keys = [matrix["key"] for matrix in matrices]
            expect_equal(len(keys), len(set(keys)), f"{name}, {layer}, {state['step']}: names of matrices {keys}")
            for matrix in matrices:
                for cell in matrix["cells"]:
                    where = f"{name}, {layer}, {state['step']}, {matrix['key']}"
                    expect(cell["verdict"] != "bad", f"{where}: {cell['number']}, by differences {cell['numeric']}")
            bad = page.call("badMarks")
            expect(not bad, f"{name}, {layer}, {state['step']}: marked as wrong: {bad}")
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
