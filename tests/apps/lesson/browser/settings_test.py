"""What the page computes where a switch is moved, a cell edited or a token put elsewhere, is what the engine
computes of a model, or an input, that is so."""

import json
import struct

import arithmetic
import browser
import engine
from page import Page, decoded
from report import expect, expect_equal, expect_near, is_near

SAME = 1e-10  # the sums are in another order


def expect_computed_like(page: Page, document, where: str) -> None:
    expect_same_numbers(page.call("computed"), document, where)


def expect_same_numbers(found: dict, document, where: str) -> None:
    """found: {"named": {name: {"numbers", "gradient"}}, "loss"}."""
    expect_near(float(found["loss"]), document.loss, SAME, f"{where}: the loss")
    compared = 0
    for name, value in document.named.items():
        fact = document.values[value]
        if name not in found["named"] or fact["dtype"] != "f64" or "numbers" not in fact:
            continue
        here = found["named"][name]
        expect_all_near(here["numbers"], document.numbers(value), f"{where}: {name}")
        compared += 1
        gradient = fact.get("gradient")
        if gradient is not None and here["gradient"] and document.is_number_known(gradient):
            expect_all_near(here["gradient"], document.numbers(gradient), f"{where}: the gradient of {name}")
            compared += 1
    expect(compared > len(document.named), f"{where}: only {compared} values could be compared")


def expect_all_near(packed: str, expected: tuple, what: str) -> None:
    found = decoded(packed)
    if not expect_equal(len(found), len(expected), f"{what}: how many numbers"):
        return
    size = max((abs(x) for x in expected if abs(x) < float("inf")), default=1.0) or 1.0
    for at, (a, b) in enumerate(zip(found, expected)):
        near = a == b or is_near(a / size, b / size, SAME) or abs(a - b) < 1e-16
        if not expect(near, f"{what}[{at}]: {a!r}, by the engine {b!r}"):
            return


CAUSAL, UNSCALED = "attention.causal=false", "model.scale_scores=false"

# What the address says, and what the engine is told. The engine masks only what is causal by nature.
SWITCHES = {
    "three-words": [({"causal": 0}, [CAUSAL]), ({"scale": 0}, [UNSCALED]), ({"window": 1}, ["attention.window=1"])],
    "decoder": [({"causal": 0}, [CAUSAL]), ({"scale": 0}, [UNSCALED]), ({"window": 2}, ["attention.window=2"]),
                ({"causal": 0, "window": 1, "scale": 0}, [CAUSAL, "attention.window=1", UNSCALED])],
    "encoder-decoder": [({"causal": 0}, [CAUSAL]), ({"scale": 0}, [UNSCALED])],
    "classifier": [({"scale": 0}, [UNSCALED]), ({"window": 3}, ["attention.window=3"])],
    "rotary": [({"window": 0}, ["attention.window=0"]), ({"causal": 0}, [CAUSAL]), ({"scale": 0}, [UNSCALED])],
}


def test_every_switch_computes_what_the_engine_does_with_that_setting():
    for lesson in engine.all_lessons():
        page = Page(lesson)
        for switched, settings in SWITCHES[lesson.name]:
            page.go(step="softmax", **switched)
            expect_computed_like(page, lesson.document_with(*settings), f"{lesson.name}, {switched}")
        page.go(step="softmax")
        expect_computed_like(page, lesson.document, f"{lesson.name}, switched back")


def test_every_form_computes_what_the_engine_does_with_that_setting():
    """Another number of heads, other positions, other projections."""
    for lesson in (engine.decoder(), engine.encoder_decoder(), engine.classifier()):
        page = Page(lesson)
        forms = page.call("forms")
        expect(len(forms) >= 8, f"{lesson.name}: only {forms}")
        for form in forms:
            page.go(step="softmax", form=form)
            expect_computed_like(page, lesson.document_with(form), f"{lesson.name}, {form}")
        page.go(step="softmax")
        expect_computed_like(page, lesson.document, f"{lesson.name}, as recorded")


def warnings_of(lesson, **state) -> list:
    Page(lesson, **state)
    return browser.script("return [...document.querySelectorAll('.top .warning')].map((each) => each.textContent)")


def test_parameters_that_no_training_has_made_are_named():
    random = "no training has made blocks.0.attention.position.distance_bias: random numbers"
    lesson = engine.three_words()
    expect_equal(warnings_of(lesson), [], "as it was recorded")
    expect_equal(warnings_of(lesson, form="model.position=none"), [], "without positions")
    expect_equal(warnings_of(lesson, form="model.position=relative"), [random], "a form with new parameters")
    changed = engine.Lesson("relative-of-three-words", [*lesson.explain, "--set", "model.position=relative"])
    expect_equal(warnings_of(changed), [random], "a page with new parameters")


def test_the_formula_of_the_mask_says_which_keys_it_hides():
    rules = {"decoder": ("j > i", [({"causal": 1, "window": 2}, "j > i ∨ i - j > 2"),
                                   ({"causal": 0, "window": 1}, "|i - j| > 1")]),
             "rotary": ("j > i ∨ i - j > 2", [({"window": 3}, "j > i ∨ i - j > 3")])}
    for lesson in (engine.decoder(), engine.rotary()):
        recorded, switched = rules[lesson.name]
        page = Page(lesson)
        for state, rule in [({}, recorded), *switched]:
            page.go(step="mask", **state)
            formulas = browser.script("""
                return [...document.querySelectorAll('main math')].map((math) => math.getAttribute('aria-label'))""")
            wanted = {f"S_m = S + M, M_{{ij}} = -∞ ({rule})", f"dS = dS_m, 0 ({rule})"}
            expect(wanted <= set(formulas), f"{lesson.name}, {state}: {formulas}")


RELATIVE = "model.position=relative"


def mask_switch() -> dict:
    """Of the causal mask, with the sentence beside it."""
    return browser.script("""
        const mask = document.querySelector('footer [role=switch]');
        return { on: mask.ariaChecked, disabled: mask.disabled,
                 why: document.querySelector('footer .fixed')?.textContent ?? null };""")


def test_the_mask_of_learned_distances_stays_and_the_page_says_why():
    """Without it the engine would have other distances, of both directions."""
    settings = [*engine.DIGITS, "model.num_layers=1", RELATIVE]
    recorded = engine.Lesson("relative", [engine.run("relative", "reverse", *settings), "--prompt", "012="])
    for lesson, form in ((recorded, None), (engine.decoder(), RELATIVE)):
        page = Page(lesson, step="softmax", form=form)
        page.call("forms")
        chosen = [form] if form else []
        for switched, changed in (({}, []), ({"causal": 0}, []), ({"causal": 0, "window": 1}, ["attention.window=1"])):
            page.go(step="softmax", form=form, **switched)
            document = lesson.document_with(*chosen, *changed)
            expect_computed_like(page, document, f"{lesson.name}, {chosen}, {switched}")
            shown = mask_switch()
            expect(shown["disabled"] and shown["on"] == "true", f"{lesson.name}, {switched}: the switch is {shown}")
            expect("learned" in (shown["why"] or ""), f"{lesson.name}, {switched}: it says {shown['why']!r}")
        page.go(step="softmax", form="model.position=none")
        expect_equal(mask_switch(), {"on": "true", "disabled": False, "why": None}, "with no positions")


def test_a_form_has_switches_of_its_own():
    lesson = engine.decoder()
    page = Page(lesson, step="softmax", form="attention.projections=none", causal=0)
    page.call("forms")
    document = lesson.document_with("attention.projections=none", CAUSAL)
    expect_computed_like(page, document, "without maps and without a mask")


def changed_run(run, name: str, change) -> list:
    """A run like another, with parameters that change(name, numbers) put others in the place of."""

    def make(here):
        [source] = [each for each in (run / "checkpoints").glob("last.safetensors")]
        target = here / "run" / "checkpoints" / "last.safetensors"
        target.parent.mkdir(parents=True, exist_ok=True)
        (here / "run" / "config.toml").write_bytes((run / "config.toml").read_bytes())
        target.write_bytes(with_numbers(source.read_bytes(), change))

    return engine.made_once(f"run-{name}", [str(run), name], make) / "run"


def with_numbers(checkpoint: bytes, change) -> bytes:
    [length] = struct.unpack("<Q", checkpoint[:8])
    header = json.loads(checkpoint[8:8 + length])
    data = bytearray(checkpoint[8 + length:])
    for name, tensor in header.items():
        if name == "__metadata__" or tensor["dtype"] != "F32":
            continue
        begin, end = tensor["data_offsets"]
        numbers = list(struct.unpack(f"<{(end - begin) // 4}f", data[begin:end]))
        change(name, numbers)
        data[begin:end] = struct.pack(f"<{len(numbers)}f", *numbers)
    metadata = header["__metadata__"]
    header["__metadata__"] = {key: text for key, text in metadata.items() if not key.startswith("xxh3")}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(data)


QUERY = "blocks.1.attention.query.weight"


def test_an_edited_parameter_computes_what_the_engine_does_with_it():
    lesson = engine.decoder()
    value = lesson.document.named[QUERY]

    def change(name, numbers):
        if name == QUERY:
            numbers[5], numbers[9] = 0.375, -1.25

    changed = engine.Lesson("edited", [changed_run(engine.decoder_run(), "edited", change), *lesson.explain[1:]])
    page = Page(lesson)
    page.go(step="query", edit=[f"{value}.5=0.375", f"{value}.9=-1.25"])
    expect_computed_like(page, changed.document, "two numbers of W_q")


def test_a_bias_switched_off_computes_what_the_engine_does_with_zeros():
    lesson = engine.decoder()

    def change(name, numbers):
        if ".attention." in name and name.endswith(".bias") and name.startswith("blocks."):
            numbers[:] = [0.0] * len(numbers)

    changed = engine.Lesson("unbiased", [changed_run(engine.decoder_run(), "unbiased", change), *lesson.explain[1:]])
    page = Page(lesson)
    page.go(step="query", bias=0)
    expect_computed_like(page, changed.document, "no biases in attention")


def test_tokens_in_another_order_compute_what_the_engine_does_with_that_prompt():
    lesson = engine.decoder()
    expect_equal(lesson.document.meta["texts"]["tokens"], ["0", "1", "2", "=", "2", "1"], "the tokens")
    other = engine.Lesson("moved", [engine.decoder_run(), "--prompt", "102=", "--target", "210"])
    page = Page(lesson)
    page.go(step="softmax", order="1.0.2.3.4.5")
    expect_computed_like(page, other.document, "the first two tokens exchanged")
    lesson = engine.text_classifier()
    run = engine.text_classifier().explain[0]
    target = lesson.document.meta["texts"]["targets"][0]
    other = engine.Lesson("moved-classifier", [run, "--prompt", "01110=", "--target", target])
    page = Page(lesson)
    page.go(step="softmax", order="1.0.2.3.4.5")
    expect_computed_like(page, other.document, "of a classifier, the first two tokens exchanged")


def test_an_edited_cell_keeps_derivatives_equal_to_differences():
    """Also a cell that was computed: what came before it hears nothing any more, what comes after follows."""
    lesson = engine.decoder()
    scores = lesson.document.named["blocks.0.attention.q"]
    page = Page(lesson)
    for changes in ({"edit": [f"{scores}.3=0.75"]}, {"residual": 0}, {"bias": 0, "causal": 0}):
        for step, keys in {"query": ("dW_q", "dX_norm", "dQ"), "sum": ("dV", "dP"), "output": ("dW_o", "dC")}.items():
            page.go(layer="blocks.0.attention", step=step, **changes)
            shown = {matrix["key"]: matrix for matrix in page.matrices()}
            cells = [{"key": key, "row": shown[key]["rows"] - 1, "column": 1} for key in keys if key in shown]
            expect(cells, f"{step}: none of {keys} is shown, but {list(shown)}")
            for cell in page.cells(cells):
                expect_equal(cell["verdict"], "good", f"{changes}, {step}, {cell['name']}: {cell['number']}, "
                             f"by differences {cell['numeric']}")
                expect(arithmetic.number(cell["number"]) != 0.0, f"{changes}, {step}, {cell['name']} is 0")
