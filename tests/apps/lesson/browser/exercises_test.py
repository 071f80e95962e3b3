"""A hidden cell: nothing tells its number, neither on the page nor in what it saves, until it has been found."""

import math
import re
from collections import Counter
from urllib.parse import parse_qsl

import browser
import engine
from exports_test import is_short_for
from page import Page
from report import expect, expect_equal


def exercises_of(page: Page) -> list:
    """The states that the chapter of exercises leads to."""
    page.go(step="exercises")
    links = browser.script("return pageTests.all('main .exercises li a').map(({ hash }) => hash.slice(1))")
    wanted = ("step", "cell", "exercise", "layer", "head")
    return [{name: x for name, x in parse_qsl(link) if name in wanted} for link in links]


class Hidden:
    """The cell of the exercise that is open, and what it hides."""

    def __init__(self, page: Page, exercise: dict):
        page.go(**exercise)
        key, row, column = exercise["exercise"].rsplit(".", 2)
        self.cell = {"key": key, "row": int(row), "column": int(column)}
        matrices = page.rows()
        self.rows = matrices.pop(key)
        self.beside = matrices.values()
        self.number = self.rows[int(row)][int(column)]


def digits_of(number: float) -> str:
    """The first twelve. Of a 1, or a half, there are none that would tell it."""
    digits = f"{abs(number):.16e}".split("e")[0].replace(".", "").rstrip("0")[:12]
    return digits if len(digits) >= 8 else "no digits"


def expect_untold(text: str, number: float, where: str) -> None:
    plain = re.sub(r"(?<=\d)\.(?=\d)", "", text)  # in no notation, wherever the point is
    expect(digits_of(number) not in plain, f"{where}: it is told")


def expect_untold_on(page: Page, number: float, where: str) -> None:
    place = page.call("placeOf", digits_of(number))
    expect(place is None, f"{where}: it is told in …{place!r}…")


def expect_legend_of_others(hidden: Hidden, where: str) -> None:
    """The end of the scale is the largest number of the other cells, or of a matrix that shares the scale."""
    others = [[x for row in rows for x in row if x != hidden.number] for rows in [hidden.rows, *hidden.beside]]
    ends = [max((abs(x) for x in numbers if math.isfinite(x)), default=0.0) for numbers in others]
    shown = browser.script("return document.querySelector(arguments[0]).closest('figure')"
                           ".querySelectorAll('.legend span')[1].textContent", grid_of(hidden))
    expect(any(is_short_for(shown, end) for end in ends), f"{where}: the scale ends with {shown}, the others with {ends}")


def grid_of(hidden: Hidden) -> str:
    return f"main [data-matrix='{hidden.cell['key']}']"


TOOLTIP = """
    const [selector] = arguments;
    const cell = document.querySelector(selector);
    const box = cell.getBoundingClientRect();
    const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true };
    cell.closest('.sheet').querySelector('.marks').dispatchEvent(new PointerEvent('pointermove', at));
    return document.querySelector('.tip').textContent;"""


def test_nothing_tells_the_number_of_a_hidden_cell():
    page = Page(engine.decoder())
    exercises = exercises_of(page)
    expect(len(exercises) >= 15, f"only {len(exercises)} exercises")
    for exercise in exercises:
        hidden = Hidden(page, exercise)
        where = exercise["exercise"]
        cell = f"{grid_of(hidden)} [aria-selected=true]"
        label = browser.script("return document.querySelector(arguments[0]).getAttribute('aria-label')", cell)
        expect(label.endswith(": ?"), f"{where}: its label is {label!r}")
        tooltip = browser.script(TOOLTIP, cell)
        expect(tooltip.endswith(": ?"), f"{where}: its tooltip is {tooltip!r}")
        expect_untold_on(page, hidden.number, where)
        expect_legend_of_others(hidden, where)
        for saved in page.call("saves"):
            expect_untold(saved["text"], hidden.number, f"{where}: {saved['name']}")
        expect_untold(page.call("numpyScript")["text"], hidden.number, f"{where}: the script")


def rounded(x: float) -> str:
    return f"{x:.11e}"


def test_the_arithmetic_of_other_cells_does_not_tell_a_hidden_number():
    lesson = engine.decoder()
    everywhere = Counter(x for value, fact in enumerate(lesson.document.values) if "numbers" in fact
                         for x in set(map(rounded, lesson.document.numbers(value))))
    page = Page(lesson)
    judged = 0
    for exercise in exercises_of(page):
        hidden = Hidden(page, exercise)
        number = hidden.number
        if everywhere[rounded(number)] > 1:
            continue  # it stands elsewhere too, as what it is: O in C
        judged += 1
        steps = page.steps()
        here = steps.index(exercise["step"])
        states = [{**exercise, "step": step, "cell": None} for step in steps[here:here + 2]]
        look = ["cellsThatTell", digits_of(number), hidden.cell["row"], hidden.cell["column"]]
        for state, telling in zip(states, page.tour(states, look)):
            expect(not telling, f"{exercise['exercise']}, {state['step']}: told by {telling[:2]}")
    expect(judged >= 10, f"only {judged} exercises have a number of their own")


def exercise_state() -> dict:
    return browser.script("""
        const verdict = document.querySelector('aside .verdict');
        const hint = [...document.querySelectorAll('aside .exercise button')].find((each) => each.type === 'button');
        return {
            verdict: verdict.className, text: verdict.textContent,
            hints: document.querySelector('aside .hints').childElementCount, more: !hint.disabled };""")


def test_an_exercise_knows_wrong_from_right_and_gives_hints():
    page = Page(engine.decoder())
    exercises = exercises_of(page)
    for exercise, following in zip(exercises, [*exercises[1:], None]):
        hidden = Hidden(page, exercise)
        where, number = exercise["exercise"], hidden.number
        for wrong in (f"{1.1 * number + 0.01:.3g}", f"{-number:.2g}"):
            page.call("fillIn", "#exercise-answer", wrong)
            state = exercise_state()
            expect("bad" in state["verdict"], f"{where}: {wrong} for {number} is {state}")
            expect_untold_on(page, number, f"{where}, after a wrong answer")
        given = []
        while (state := exercise_state())["more"] and len(given) < 9:
            page.call("press", "hint")
            given.append(exercise_state()["hints"])
            expect_untold_on(page, number, f"{where}, hint {len(given)}")
        expect(len(given) == 3 and given == sorted(set(given)), f"{where}: hints {given}")
        page.call("fillIn", "#exercise-answer", f"{number:.3g}")
        state = exercise_state()
        expect("good" in state["verdict"] and state["text"].startswith("✓"), f"{where}: {number:.3g} is {state}")
        if following:
            link = browser.script("return document.querySelector('aside .verdict a').hash.slice(1)")
            expect_equal(dict(parse_qsl(link))["exercise"], following["exercise"], f"after {where}")
        page.call("press", "show")
        [cell] = page.cells([hidden.cell])
        expect_equal(float(cell["number"].replace("−", "-")), number, f"{where}: shown")


def test_a_wrong_answer_is_told_which_mistake_gives_it():
    """dS without the row sum is P ∘ dP; and the sign alone may be wrong."""
    page = Page(engine.three_words())
    exercises = exercises_of(page)
    [exercise] = [each for each in exercises if each["exercise"].startswith(("dS.", "dS_m.")) and each["step"] == "softmax"]
    hidden = Hidden(page, exercise)
    page.go(**{**exercise, "exercise": None, "break": "row_sum"})
    mistaken = page.rows()[hidden.cell["key"]][hidden.cell["row"]][hidden.cell["column"]]
    for answer, told in ((mistaken, "row sum"), (-hidden.number, "sign"), (3 * hidden.number + 1, "not yet")):
        page.go(**exercise)
        page.call("fillIn", "#exercise-answer", f"{answer:.3g}")
        found = exercise_state()
        expect("bad" in found["verdict"] and told in found["text"], f"{answer:.3g} for {hidden.number:.3g}: {found}")


PATH = ["dlogits", "dH", "dG", "dC", "dP", "dS_m", "dQ", "dW_q"]


def test_the_path_leads_from_the_loss_to_the_queries():
    for lesson in (engine.three_words(), engine.decoder()):
        page = Page(lesson, step="exercises")
        browser.script("document.querySelector('.exercise-path .begin').click()")
        for at, key in enumerate(PATH, 1):
            name = page.cell_name()
            expect(name.startswith(f"{key}["), f"{lesson.name}: cell {at} of the path is {name}, expected {key}")
            told = browser.script("return document.querySelector('.trail').textContent")
            expect(told.startswith(f"cell {at} of 8"), f"{lesson.name}: {told!r}")
            value = browser.script("""const { app } = document.getElementById("lesson");
                const { cell } = app.lesson.state;
                return app.lesson.matrix(cell.key).number(cell.row, cell.column);""")
            browser.script("""document.getElementById("exercise-answer").value = arguments[0];
                document.querySelector("form.exercise").requestSubmit();""", value)
            if at < len(PATH):
                browser.script("document.querySelector('.verdict a').click()")
        said = browser.script("return document.querySelector('.verdict').textContent")
        expect("from dlogits to dW_q" in said, f"{lesson.name}: in the end it says {said!r}")


def test_a_sheet_for_paper_has_blanks_and_solutions():
    Page(engine.three_words(), step="exercises")
    tasks, answers, shown = browser.script("""
        const texts = (selector) => pageTests.all(selector).map((each) => each.textContent);
        return [texts(".exercise-sheet .tasks li"), texts(".exercise-sheet .answers li"),
                getComputedStyle(document.querySelector(".exercise-sheet")).display];""")
    expect_equal((len(tasks), len(answers), shown), (8, 8, "none"), "tasks, answers, and the sheet on the screen")
    for task, answer in zip(tasks, answers):
        name, number = answer.split(" = ")
        expect(task.endswith(f"{name} = ____________") and number not in task.rsplit(name, 1)[1], f"{task!r}, {answer!r}")
    browser.command("Emulation.setEmulatedMedia", media="print")
    visible = browser.script("return getComputedStyle(document.querySelector('.exercise-sheet')).display")
    browser.prefer()
    expect_equal(visible, "block", "the sheet on paper")
