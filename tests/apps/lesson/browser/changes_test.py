"""What the page computes where a reader moves a switch, edits a cell, puts a token elsewhere or gives another text, is
what the engine computes of a model, or an input, that is so."""

import math

import arithmetic
import browser
import engine
from page import Page, decoded
from report import expect, expect_equal, expect_near, is_near

SAME = 1e-10  # the sums are in another order


def expect_computed_like(page: Page, document, where: str) -> None:
    found = page.call("computed")
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


CAUSAL, UNSCALED, RELATIVE = "attention.causal=false", "model.scale_scores=false", "model.position=relative"

# What the address says, and what the engine is told. The engine masks only what is causal by nature.
SWITCHES = {
    "three-words": [({"causal": 0}, [CAUSAL]), ({"scale": 0}, [UNSCALED]), ({"window": 1}, ["attention.window=1"])],
    "decoder": [({"causal": 0}, [CAUSAL]), ({"scale": 0}, [UNSCALED]), ({"window": 2}, ["attention.window=2"]),
                ({"causal": 0, "window": 1, "scale": 0}, [CAUSAL, "attention.window=1", UNSCALED]),
                ({"form": "attention.projections=none", "causal": 0}, ["attention.projections=none", CAUSAL])],
    "encoder-decoder": [({"causal": 0}, [CAUSAL]), ({"scale": 0}, [UNSCALED])],
    "classifier": [({"scale": 0}, [UNSCALED]), ({"window": 3}, ["attention.window=3"])],
    "rotary": [({"window": 0}, ["attention.window=0"]), ({"causal": 0}, [CAUSAL]), ({"scale": 0}, [UNSCALED])],
}


def test_every_switch_and_form_computes_what_the_engine_does_with_that_setting():
    """Forms: another number of heads, other positions, other projections."""
    for lesson in engine.all_lessons():
        page = Page(lesson)
        forms = page.call("forms")
        changes = list(SWITCHES[lesson.name])
        if lesson.name in ("decoder", "encoder-decoder", "classifier"):
            expect(len(forms) >= 8, f"{lesson.name}: only {forms}")
            changes += [({"form": form}, [form]) for form in forms]
        for changed, settings in changes:
            page.go(step="softmax", **changed)
            expect_computed_like(page, lesson.document_with(*settings), f"{lesson.name}, {changed}")
        page.go(step="softmax")
        expect_computed_like(page, lesson.document, f"{lesson.name}, as recorded")


def warnings_of(lesson, **state) -> list:
    Page(lesson, **state)
    return browser.script("return pageTests.all('.top .warning').map((each) => each.textContent)")


def test_parameters_that_no_training_has_made_are_named():
    random = "no training has made blocks.0.attention.position.distance_bias: random numbers"
    lesson = engine.three_words()
    changed = engine.Lesson("relative-of-three-words", [*lesson.explain, "--set", RELATIVE])
    for shown, form, warnings in ((lesson, None, []), (lesson, "model.position=none", []), (lesson, RELATIVE, [random]),
                                  (changed, None, [random])):
        expect_equal(warnings_of(shown, form=form), warnings, f"{shown.name}, {form}")


def test_the_formula_of_the_mask_says_which_keys_it_hides():
    for lesson, state, rule in ((engine.decoder(), {}, "j > i"),
                                (engine.decoder(), {"causal": 1, "window": 2}, "j > i ∨ i - j > 2"),
                                (engine.decoder(), {"causal": 0, "window": 1}, "|i - j| > 1"),
                                (engine.rotary(), {}, "j > i ∨ i - j > 2"),
                                (engine.rotary(), {"window": 3}, "j > i ∨ i - j > 3")):
        Page(lesson, step="mask", **state)
        formulas = browser.script("return pageTests.all('main math').map((math) => math.getAttribute('aria-label'))")
        wanted = {f"M_{{ij}} = -∞ ({rule})", f"dS = dS_m, 0 ({rule})"}
        expect(wanted <= set(formulas), f"{lesson.name}, {state}: {formulas}")


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


def changed_decoder(name: str, change) -> engine.Lesson:
    return engine.Lesson(name, [engine.changed_run(engine.decoder_run(), name, change), *engine.decoder().explain[1:]])


def test_other_parameters_and_other_tokens_compute_what_the_engine_does_with_them():
    query = "blocks.1.attention.query.weight"

    def edit(name, numbers):
        if name == query:
            numbers[5], numbers[9] = 0.375, -1.25

    def unbias(name, numbers):
        if ".attention." in name and name.endswith(".bias") and name.startswith("blocks."):
            numbers[:] = [0.0] * len(numbers)

    lesson, classifier = engine.decoder(), engine.text_classifier()
    expect_equal(lesson.document.meta["texts"]["tokens"], ["0", "1", "2", "=", "2", "1"], "the tokens")
    value = lesson.document.named[query]
    edits = [f"{value}.5=0.375", f"{value}.9=-1.25"]
    moved = engine.Lesson("moved", [engine.decoder_run(), "--prompt", "102=", "--target", "210"])
    target = classifier.document.meta["texts"]["targets"][0]
    moved_class = engine.Lesson("moved-classifier", [classifier.explain[0], "--prompt", "01110=", "--target", target])
    # The last target, which no token repeats, is as recorded.
    other = engine.Lesson("decoder-other", [engine.decoder_run(), "--prompt", "403=", "--target", "300"])
    tokens = other.document.meta["texts"]["tokens"]

    def prompt_of(asked):
        meta = asked.document.meta
        return {"prompt": ".".join(str(meta["vocabulary"].index(token)) for token in meta["texts"]["tokens"])}

    for shown, state, computed in ((lesson, {"edit": edits}, changed_decoder("edited", edit)),
                                   (lesson, {"bias": 0}, changed_decoder("unbiased", unbias)),
                                   (lesson, prompt_of(moved), moved),
                                   (classifier, prompt_of(moved_class), moved_class),
                                   (lesson, prompt_of(other), other)):
        page = Page(shown, step="softmax", **state)
        expect_computed_like(page, computed.document, f"{shown.name}, {state}")
        expect(not page.call("badMarks"), f"{shown.name}, {state}: marked as wrong: {page.call('badMarks')}")
    names = browser.script("return document.getElementById('lesson').app.lesson.chapters.queries")
    expect_equal(names, tokens, "names of rows")


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


# What a reader changes, and takes back


def edits_in_address(page: Page) -> int:
    return page.call("addressNow").count("edit=")


def put_in(page: Page, cell: dict, number: str) -> None:
    page.call("openCell", cell)
    page.call("fillIn", "#cell-edit", number)
    page.call("finishPanel")


def test_an_edit_is_taken_back():
    """Of a parameter, and of a number that was computed."""
    lesson = engine.decoder()
    page = Page(lesson)
    for step, key in (("query", "W_q"), ("scores", "Z")):
        page.go(step=step)
        cell = {"key": key, "row": 4, "column": 0}
        before = page.loss()
        put_in(page, cell, "0.75")
        expect_equal(page.cells([cell])[0]["number"], "0.75", f"{key}: what was put in")
        expect(page.loss() != before, f"{key}: the loss does not follow")
        expect_equal(edits_in_address(page), 1, f"{key}: edits in the address")
        said = browser.script("return document.querySelector('aside .arithmetic').textContent")
        expect("You put this number here" in said, f"{key}: where it is from: {said!r}")
        page.call("press", "undo")
        expect_equal(edits_in_address(page), 0, f"{key}: edits in the address, after undo")
        expect_computed_like(page, lesson.document, f"{key}, taken back")
    page.go(step="query")
    losses = [page.loss()]
    for column in (0, 1):
        put_in(page, {"key": "W_q", "row": 0, "column": column}, "0.5")
        losses.append(page.loss())
    expect_equal(len(set(losses)), 3, "losses")
    page.call("press", "undo")
    expect_equal(page.loss(), losses[1], "the loss, after the second was taken back")
    page.call("press", "as recorded")
    expect_equal(edits_in_address(page), 0, "edits in the address")
    expect_computed_like(page, lesson.document, "as recorded")


def test_keys_move_a_number():
    page = Page(engine.decoder(), step="query", cell="W_q.1.0")
    before = float(page.cells([{"key": "W_q", "row": 1, "column": 0}])[0]["number"])
    browser.script("document.querySelector('aside .drag').focus()")
    for _ in range(2):
        browser.press("ArrowUp")
    after = float(browser.script("return document.querySelector('#cell-edit').value"))
    expect(after > before, f"{before!r} became {after!r}")
    has_focus = browser.script("return document.activeElement === document.querySelector('aside .drag')")
    expect(has_focus, "it lost the focus")


def test_a_token_is_chosen_in_the_opening_and_a_prompt_that_does_not_fit_is_left_aside():
    page = Page(engine.three_words(), step="glance")
    before = page.loss()
    browser.script("""const select = pageTests.all("select.token")[1];
        select.value = "3";
        select.dispatchEvent(new Event("change", {bubbles: true}));""")
    texts = browser.script("return pageTests.all('.texts dd').map((each) => each.textContent)")
    expect_equal(texts[1], "dreamadream", "wanted: the next token follows")
    expect(page.loss() != before and "prompt=0.3.2" in page.call("addressNow"), "nothing follows")
    page.call("press", "as recorded")
    expect_equal(page.loss(), before, "taken back")
    for prompt in ("0.1", "0.1.2.3", "0.1.99", "a.b.c", "-1.0.0"):
        page.go(step="glance", prompt=prompt)
        expect_equal(page.loss(), before, f"the loss with prompt={prompt}")
    browser.expect_quiet(page.lesson.page, "prompts that do not fit")


# Steps of gradient descent by hand: every number moves against its gradient, and every chapter follows.
LEARNING = """const { lesson } = document.getElementById("lesson").app;
return {
  told: document.querySelector(".learning [role=status]")?.textContent ?? null,
  note: document.querySelector(".learning-note")?.textContent ?? "",
  loss: lesson.tape.loss(),
  losses: lesson.learning ? lesson.descent.points.map(({ loss }) => loss) : [],
};"""


def test_a_small_step_lowers_the_loss_as_its_gradient_says():
    for lesson in (engine.three_words(), engine.decoder()):
        document = lesson.document
        learned = {value["name"]: (document.numbers(index), document.numbers(value["gradient"]))
                   for index, value in enumerate(document.values)
                   if value["kind"] == "parameter" and value.get("gradient") is not None}
        predicted = 1e-4 * math.fsum(x * x for _, slopes in learned.values() for x in slopes)
        page = Page(lesson, step="opening", rate="0.0001", learn="1")
        shown = browser.script(LEARNING)
        fall = shown["losses"][0] - shown["losses"][1]
        expect(math.isclose(fall, predicted, rel_tol=0.02), f"{lesson.name}: the loss fell by {fall}, not {predicted}")
        expect("fell by" in shown["told"], f"{lesson.name}: {shown['told']}")
        named = page.call("computed")["named"]
        for name, (numbers, slopes) in learned.items():
            wanted = [x - 1e-4 * slope for x, slope in zip(numbers, slopes)]
            moved = decoded(named[name]["numbers"])
            wrong = [i for i, x in enumerate(moved) if not math.isclose(x, wanted[i], rel_tol=1e-9, abs_tol=1e-12)]
            expect(not wrong, f"{lesson.name}, {name}: element {wrong[:1]} did not move by η times its gradient")


def test_steps_follow_each_other_and_are_taken_back():
    page = Page(engine.three_words(), step="opening")
    start = browser.script(LEARNING)
    expect("A step moves every parameter" in start["told"] and not start["note"], f"before the first step: {start}")
    shares = page.call("computed")["named"]["blocks.0.attention.weights"]["numbers"]
    losses = [start["loss"]]
    for _ in range(3):
        browser.script("pageTests.all('.learning button')[0].click()")
        losses.append(browser.script(LEARNING)["loss"])
    expect(losses == sorted(losses, reverse=True) and len(set(losses)) == 4, f"the losses are {losses}")
    expect(page.call("computed")["named"]["blocks.0.attention.weights"]["numbers"] != shares, "P stays the same")
    page.go(step="softmax", learn="3")
    shown = browser.script(LEARNING)
    expect("after 3 steps" in shown["note"], f"above another chapter: {shown['note']!r}")
    expect_equal(shown["loss"], losses[3], "the same address gives the same loss")
    browser.script("document.querySelector('.learning-note').click()")
    expect_equal(browser.script(LEARNING)["loss"], start["loss"], "taken back")
    page.go(step="opening", rate="100", learn="1")
    shown = browser.script(LEARNING)
    expect(shown["loss"] > shown["losses"][0] and "η is too large" in shown["told"], f"with η = 100: {shown}")
    expect(not page.call("badMarks"), "what holds for every number does not hold any more")
    Page(engine.deep_text(), step="opening", learn="2")
    expect_equal(browser.script(LEARNING)["told"], None, "learning of a part")
