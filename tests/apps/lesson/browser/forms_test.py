"""Every form of model that trains has its page: each value of each key of [model] and [attention] at least once, and of
six of them each pair of values."""
import itertools

import browser
import engine
from exports_test import expect_rules
from page import Page
from report import expect, expect_equal

# What is combined with what: in every pair of values that go together.
CHOICES = {
    "config": ["reverse", "reverse_seq2seq"],
    "attention.projections": ["separate", "shared_key_value", "shared", "none"],
    "attention.heads": ["split", "narrow", "wide"],
    "model.position": ["none", "sinusoidal", "learned", "rotary", "alibi", "relative"],
    "model.norm": ["pre", "post", "none"],
    "attention.window": ["0", "2"],
}

# And what takes turns from form to form.
TURNS = [["model.norm_kind=rms", "model.bias=false"], ["model.activation=relu"], ["model.scale_scores=false"],
         ["model.activation=swiglu", "model.logit_cap=2"], ["model.activation=relu_squared"],
         ["model.activation=gelu_tanh"], []]


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


def steps_of(form: tuple, turn: list) -> dict:
    """{step: whether its last layer has it}"""
    config, maps, heads, position, norm, window = form
    has_maps, is_decoder = maps != "none", config == "reverse"
    steps = dict.fromkeys(["scores", "softmax", "sum", "residual", "second_residual"], True)
    steps |= dict.fromkeys(["query", "key", "value"], has_maps)
    if has_maps:
        steps["output"] = True
    if heads == "split" and has_maps:
        steps["concat"] = True
    steps |= dict.fromkeys(["norm", "final_norm"], norm == "pre")
    steps |= dict.fromkeys(["norm_after", "second_norm_after"], norm == "post")
    if norm != "post":
        steps["second_norm"] = norm == "pre"
    steps["scale"] = "model.scale_scores=false" not in turn
    if is_decoder or window == "0":
        steps["mask"] = is_decoder
    if is_decoder:
        if maps != "shared":  # of one map queries, keys and values are one value
            steps["ledger"] = True
        steps["position_bias"] = position in ("alibi", "relative")
        if has_maps:
            steps["query_rotation"] = steps["key_rotation"] = position == "rotary"
    return steps


def expect_page(name: str, lesson: engine.Lesson, wanted: dict) -> None:
    page = Page(lesson)
    layer = page.layers()[-1]
    shown = set()
    for where, state, (bad, matrices) in page.every_step("badMarks", "matrices", layer=layer, head=page.heads(layer) - 1):
        shown.add(state["step"])
        keys = [matrix["key"] for matrix in matrices]
        expect_equal(len(keys), len(set(keys)), f"{where}: names of matrices {keys}")
        expect(not bad, f"{where}: marked as wrong: {bad}")
    expect_equal({step: step in shown for step in wanted}, wanted, f"{name}: its steps")
    expect_rules(page)
    browser.expect_quiet(lesson.page, name)


def lesson_of_one_block(name: str, config: str, settings: list) -> engine.Lesson:
    run = engine.run(f"form-{name}", config, *engine.DIGITS, "model.num_layers=1", *settings)
    return engine.Lesson(f"form-{name}", [run, "--prompt", "012="])


def test_every_pair_of_choices_has_its_page():
    for form, turn in zip(forms_with_every_pair(), itertools.cycle(TURNS)):
        if form[4] == "none":  # which has no kind
            turn = [setting for setting in turn if "norm" not in setting]
        settings = [f"{key}={value}" for key, value in zip(list(CHOICES)[1:], form[1:])] + turn
        lesson = lesson_of_one_block("-".join(form), form[0], settings)
        expect_page(f"{form}, {turn}", lesson, steps_of(form, turn))


def test_normed_queries_and_keys_have_their_page():
    for more in (["model.num_heads=1"], ["model.position=rotary", "attention.num_key_value_heads=1"],
                 ["attention.heads=narrow"]):
        steps = dict.fromkeys(["query", "key", "value", "query_norm", "key_norm"], True)
        steps["query_rotation"] = "model.position=rotary" in more
        settings = ["attention.query_key_norm=true", *more]
        expect_page(f"{more}", lesson_of_one_block(f"normed-{len(more[0])}", "reverse", settings), steps)


def test_heads_that_share_keys_have_their_page():
    settings = ["attention.num_key_value_heads=1", "model.position=rotary"]
    steps = dict.fromkeys(["query", "key", "value", "ledger", "query_rotation", "key_rotation", "concat"], True)
    expect_page("shared keys", lesson_of_one_block("shared-keys", "reverse", settings), steps)
