"""The opening: a guess, its error, the tubes and their pipe, and steps of learning, with the numbers of the engine."""

import math

import arithmetic
import browser
import engine
from page import Page
from report import expect, expect_equal

OPENING = """
    const texts = (selector, root = document) => [...root.querySelectorAll(selector)].map((each) => each.textContent);
    const root = document.querySelector(".opening");
    return root && {
      scene: root.dataset.scene,
      what: document.querySelector(".said").textContent,
      read: texts(".opening-read kbd"),
      bars: [...root.querySelectorAll(".bar")].map((bar) => texts(".share-of > span:first-child, output, .missing", bar)),
      tubes: [...root.querySelectorAll(".tubes g")].map((tube) => texts("text", tube)),
      heights: [...root.querySelectorAll(".tube")].map(({ style }) => parseFloat(style.height)),
      said: root.querySelector(".opening-said").textContent,
      links: [...root.querySelectorAll(".opening-board a")].map((link) => link.getAttribute("href")),
      step: document.getElementById("lesson").app.lesson.learning.steps };"""

PRESS = """const names = arguments[0];
    [...document.querySelectorAll(".opening button")].find(({ textContent }) => textContent.includes(names)).click();"""


def shown() -> dict:
    return browser.script(OPENING)


def is_near(text: str, number: float) -> bool:
    """In three digits."""
    return abs(arithmetic.number(text) - number) <= 0.006 * abs(number) + 1e-12


def softmax(numbers) -> list:
    exps = [math.exp(x - max(numbers)) for x in numbers]
    return [x / sum(exps) for x in exps]


def test_three_words_are_guessed_and_blamed_as_the_engine_has_it():
    lesson = engine.three_words()
    document, columns = lesson.document, slice(-4, None)
    p = softmax(document.numbers(document.named["logits"])[columns])
    weights = document.named["blocks.0.attention.weights"]
    page = Page(lesson, step="opening", scene="tubes")
    tubes = shown()
    expect_equal(tubes["read"], ["I", "have", "a", "?", "dream"], "what is read, and what should come")
    expect("guesses" in tubes["what"] and "reads a text" in tubes["what"], f"what the model does: {tubes['what']}")
    for name, share, missing in tubes["bars"]:
        at = ["I", "have", "a", "dream"].index(name)
        expect_equal(share, f"{round(100 * p[at])} %", f"the share of {name}")
        expect(is_near(missing, (name == "dream") - p[at]), f"the error of {name}: {missing}")
    shares = document.numbers(weights)[6:9]  # of head 0, the last row
    wishes = [-x for x in document.gradient("blocks.0.attention.weights")[6:9]]
    mean = sum(share * wish for share, wish in zip(shares, wishes))
    page.go(step="opening", scene="pipe")
    pipe = shown()
    for j, name in enumerate(["I", "have", "a"]):
        expect_equal([each["tubes"][j][0] for each in (tubes, pipe)], [name, name], "a tube")
        expect(is_near(tubes["tubes"][j][1], shares[j]), f"{name} has the share {tubes['tubes'][j][1]}")
        expect(is_near(tubes["tubes"][j][2][2:], wishes[j]), f"the wish for {name}: {tubes['tubes'][j][2]}")
        wanted = shares[j] * (wishes[j] - mean)
        expect(is_near(pipe["tubes"][j][2][2:], wanted), f"{name} gets {pipe['tubes'][j][2]}, not {wanted}")
    expect(all(math.isclose(height / sum(pipe["heights"]), share, rel_tol=1e-3)
               for height, share in zip(pipe["heights"], shares)), f"the heights are {pipe['heights']}")
    for link in sorted(set(tubes["links"] + pipe["links"])):
        page.call("follow", link)
        expect(page.cell_name(), f"{link} leads to no cell")
        page.call("goBack")


def test_every_kind_of_model_that_guesses_has_an_opening_and_a_part_of_one_has_none():
    for lesson, what in ((engine.decoder(), "what comes next"), (engine.encoder_decoder(), "writes another"),
                         (engine.classifier(), "looks at a picture"), (engine.text_classifier(), "of which kind"),
                         (engine.Lesson("bare", ["--example", "bare"]), "what comes next")):
        Page(lesson, step="opening", scene="pipe")
        found = shown()
        expect(found and what in found["what"], f"{lesson.name}: {found}")
        shares = [arithmetic.number(share) for _, share, _ in found["tubes"]]
        moves = [arithmetic.number(change[2:]) for _, _, change in found["tubes"]]
        expect(abs(sum(shares) - 1) < 0.01, f"{lesson.name}: shares {shares}")
        expect(abs(sum(moves)) <= 0.01 * max(map(abs, moves)), f"{lesson.name}: what one gets, others lose: {moves}")
        browser.expect_quiet(lesson.page, lesson.name)
    Page(engine.deep_text(), step="opening")
    expect_equal(shown(), None, "the opening of a part")


def test_it_plays_once_by_itself_and_stands_still_for_who_wants_no_motion():
    lesson = engine.three_words()
    quick = "const real = window.setTimeout; window.setTimeout = (f, time) => real(f, time / 40);"
    script = browser.command("Page.addScriptToEvaluateOnNewDocument", source=quick)
    try:
        browser.open_page(lesson.page, "#lang=en")
        expect(browser.comes_true("document.querySelector('.opening').dataset.scene === 'learn'"), "it does not play")
        expect_equal(shown()["step"], 0, "steps that nobody asked for")
        browser.prefer(reduced_motion="reduce")
        browser.open_page(lesson.page, "#lang=en")
        browser.wait_for("setTimeout(done, 40000);")
        expect_equal(shown()["scene"], "guess", "with reduced motion")
    finally:
        browser.command("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
        browser.leave()
    Page(lesson, step="opening", scene="guess")
    seen = [shown()["scene"]]
    for _ in range(4):
        browser.script(PRESS, "next")
        seen.append(shown()["scene"])
    browser.script(PRESS, "back")
    expect_equal([*seen, shown()["scene"]], ["guess", "error", "tubes", "pipe", "learn", "pipe"], "by hand")


def test_it_learns_a_step_a_frame_and_a_step_costs_a_step():
    page = Page(engine.three_words(), step="opening", scene="learn")
    browser.script("window.descent = document.getElementById('lesson').app.lesson.descent")
    browser.script(PRESS, "one step")
    expect("from 16 % to 21 %" in shown()["said"], shown()["said"])
    browser.script(PRESS, "it learns")
    expect(browser.comes_true("document.getElementById('lesson').app.lesson.learning.steps > 3"), "it does not run")
    browser.script(PRESS, "stop")
    stopped = shown()["step"]
    browser.wait_for("requestAnimationFrame(() => requestAnimationFrame(done));")
    expect_equal(shown()["step"], stopped, "steps after it was stopped")
    page.go(step="opening", scene="learn", learn="295")
    browser.script(PRESS, "it learns")
    expect(browser.comes_true("document.getElementById('lesson').app.lesson.learning.steps === 300"), "it ends early")
    end = shown()
    expect("95 %" in end["said"], f"after 300 steps: {end['said']}")
    [same, points, losses] = browser.script("""const { descent } = document.getElementById('lesson').app.lesson;
        const losses = descent.points.map(({ loss }) => loss);
        return [descent === window.descent, losses.length, [losses[0], losses.at(-1)]];""")
    expect_equal([same, points], [True, 301], "steps that were made")
    expect(math.isclose(losses[1], 0.0843356, rel_tol=1e-5), f"the losses are {losses}")
    browser.script("""const scrub = document.querySelector(".learning [type=range]");
        scrub.value = 1;
        scrub.dispatchEvent(new Event("input"));""")
    expect_equal(shown()["bars"][1][1], "21 %", "dream, scrubbed back")
    page.go(step="loss", learn="300")
    expect(math.isclose(page.loss(), losses[1], rel_tol=1e-12), "another chapter has another loss")


def test_steps_longer_than_a_frame_are_made_beside_the_page_and_are_the_same():
    page = Page(engine.decoder(), step="opening", scene="learn", learn="8")
    losses = "document.getElementById('lesson').app.lesson.descent.points.map(({ loss }) => loss)"
    wanted = browser.script(f"return {losses}")
    browser.leave()
    page = Page(engine.decoder(), step="opening", scene="learn", learn="1")
    browser.script("""window.workers = 0;
        const Before = window.Worker;
        window.Worker = class extends Before { constructor(...given) { super(...given); window.workers++; } };
        const { descent } = document.getElementById("lesson").app.lesson;
        const tapeAt = descent.tapeAt.bind(descent);
        descent.tapeAt = (steps) => {
          for (const end = performance.now() + 100; performance.now() < end;);
          return tapeAt(steps);
        };""")
    browser.script(PRESS, "it learns")
    expect(browser.comes_true("document.getElementById('lesson').app.lesson.learning.steps >= 8"), "it does not run")
    browser.script(PRESS, "stop")
    expect_equal(browser.script("return window.workers"), 1, "workers")
    expect_equal(browser.script(f"return {losses}")[:9], wanted, "the losses")
    browser.expect_quiet(page.lesson.page, "a worker")


def test_an_example_is_read_without_the_padding_of_its_batch():
    for lesson, read in zip(engine.of_several_lengths(), (["c", "c", "?"], ["e", "a", "⇥", "⇥", "?"])):
        Page(lesson)
        expect_equal(shown()["read"][:-1], read, f"{lesson.name}: what is read, before what it should be")
