"""What chapters draw and tell is made of the numbers that their matrices have."""

import math

import browser
import engine
from page import Page
from report import expect, expect_equal, expect_near


BUDGET = """const box = (each) => ["x", "y", "width", "height"].map((name) => Number(each.getAttribute(name)));
return {
  told: document.querySelector(".budget p").textContent,
  pieces: pageTests.all(".budget rect").map((each) => ({box: box(each), grows: each.classList.contains("more")})),
};"""


def expect_areas(page: Page, row: int, where: str) -> None:
    found = page.rows()
    shares, wishes, changes = (found[key][row] for key in ("P", "dP", "dS_m"))
    drawn = browser.script(BUDGET)
    seen = [j for j, share in enumerate(shares) if share > 0]
    if not expect_equal(len(drawn["pieces"]), len(seen), f"{where}: pieces"):
        return
    widths = [piece["box"][2] + 1 for piece in drawn["pieces"]]
    areas = [(1 if piece["grows"] else -1) * width * piece["box"][3] for piece, width in zip(drawn["pieces"], widths)]
    largest = max(range(len(seen)), key=lambda i: abs(areas[i]))
    most = changes[seen[largest]]
    unit = -most / areas[largest] if areas[largest] else 0
    for area, width, j in zip(areas, widths, seen):
        expect(abs(area * unit + changes[j]) < 0.02 * abs(most) + 1e-12,
               f"{where}, key {j}: the area is {area * unit}, −dS is {-changes[j]}")
        expect(math.isclose(width / sum(widths), shares[j], abs_tol=0.02), f"{where}, key {j}: the width is {width}")
    average = -sum(p * d for p, d in zip(shares, wishes))
    expect(f"= {average:.3g}".replace("-", "−")[:6] in drawn["told"], f"{where}: {average} is not in {drawn['told']!r}")


def test_areas_of_the_budget_are_the_changes_of_the_scores():
    browser.resize(1440, 900)
    page = Page(engine.decoder(), step="softmax", head=1)
    for row, switched in ((1, {}), (3, {}), (5, {}), (5, {"scale": 0})):
        page.go(step="softmax", head=1, cell=f"P.{row}.0", **switched)
        expect_areas(page, row, f"row {row}, {switched}")


def test_the_budget_follows_the_chosen_cell_and_hides_in_an_exercise():
    browser.resize(1440, 900)
    page = Page(engine.three_words(), step="softmax")
    expect_equal(len(browser.script(BUDGET)["pieces"]), 3, "keys of the last query")
    browser.script("pageTests.all('.suggestions button')[2].click()")
    row = int(page.cell_name().split("[")[1].split(",")[0])
    expect_equal(len(browser.script(BUDGET)["pieces"]), row + 1, f"keys that the query of {page.cell_name()} sees")
    page.go(step="softmax", cell="dS_m.2.1", exercise="dS_m.2.1")
    expect(not browser.script("return document.querySelector('.budget')"), "an exercise shows the budget, and its answer")


def test_what_is_not_asked_has_no_right_answer():
    lesson = engine.decoder()
    targets = lesson.document.meta["texts"]["targets"]
    page = Page(lesson, step="loss", cell="y.0.0")
    expect("no target" in browser.script("return document.querySelector('aside').textContent"), "the cell does not say why")
    found = page.rows()
    expect(None in targets, "every token has a target")
    for row, (target, y, difference, p) in enumerate(zip(targets, found["y"], found["p−y"], found["p"])):
        expect_equal(sum(y), 0.0 if target is None else 1.0, f"row {row}: the sum of y")
        expect_equal(list(difference), [0.0 if target is None else a - b for a, b in zip(p, y)], f"row {row}: p − y")


GEOMETRY = """const ends = (line) => ["x1", "y1", "x2", "y2"].map((name) => Number(line.getAttribute(name)));
return {
  arrows: pageTests.all(".geometry .arrow").map(ends),
  pull: pageTests.all(".geometry .pull").map(ends)[0],
  told: document.querySelector(".geometry p")?.textContent ?? "",
  names: pageTests.all(".geometry text").map((each) => each.textContent),
};"""

MOVE = """const tip = pageTests.all(".geometry circle")[arguments[0]];
tip.focus();
tip.dispatchEvent(new KeyboardEvent("keydown", {key: arguments[1], bubbles: true}));"""


def test_arrows_are_rows_of_queries_and_columns_of_keys():
    page = Page(engine.three_words(), step="scores", cell="Z.2.1")
    drawn, found = browser.script(GEOMETRY), page.rows()
    tips = found["Q"] + list(zip(*found["Kt"]))
    expect_equal(len(drawn["arrows"]), len(tips), "arrows")
    scales = set()
    for (x1, y1, x2, y2), (x, y) in zip(drawn["arrows"], tips):
        length = math.hypot(x, y)
        scales.add(round(math.hypot(x2 - x1, y2 - y1) / length, 3))
        expect(abs((x2 - x1) * y + (y2 - y1) * x) < 1e-6 * length, f"the arrow of {x, y} points elsewhere: {x2 - x1, y2 - y1}")
    expect_equal(len(scales), 1, "arrows have one scale")
    scale = scales.pop()
    x1, y1, x2, y2 = drawn["pull"]
    dq = found["dQ"][2]
    pull = ((x2 - x1) / scale, (y1 - y2) / scale)
    expect(abs(pull[0] + dq[0]) < 1e-3 and abs(pull[1] + dq[1]) < 1e-3, f"the pull is {pull}, dQ is {dq}")
    expect(f"{abs(found['Z'][2][1]):.3g}" in drawn["told"], f"the score is {found['Z'][2][1]}, it says {drawn['told']!r}")
    expect_equal(drawn["names"], ["I", "have", "a"] * 2, "names")
    Page(engine.decoder(), step="scores")
    expect(not browser.script("return document.querySelector('.geometry')"), "a plane for heads of four numbers")


def test_a_tip_is_moved_by_keys_and_the_scores_follow():
    page = Page(engine.three_words(), step="scores", cell="Z.2.1")
    before = page.rows()
    browser.script(MOVE, 2, "ArrowUp")
    after = page.rows()
    q = after["Q"][2]
    expect(q[1] > before["Q"][2][1] and q[0] == before["Q"][2][0], f"the query of the last token is {q}")
    for z, key in zip(after["Z"][2], zip(*after["Kt"])):
        expect_near(z, q[0] * key[0] + q[1] * key[1], 1e-12, "Z stays behind")
    expect("edit=" in page.call("addressNow"), "the address does not have the edit")
    browser.script(MOVE, 2, "ArrowUp")
    expect(page.rows()["Q"][2][1] > q[1], "a second key does nothing")


WAY_BACK = """
const texts = (selector) => pageTests.all(selector).map((each) => each.textContent);
const left = (selector) => document.querySelector(selector).getBoundingClientRect().left;
return { chapters: texts(".chapter-select option"), passes: texts(".what-passes p"),
         isLeft: left(".side.backward") < left(".side.forward") };"""


PASSING = [("scores", "dZ", "dQ, dK⊤"), ("sum", "dO", "dP, dV"), ("ledger", "dXq, dXk, dXv", "dX"),
           ("residual", "dR", "dXin, dY"), ("ledger_input", "dR, dXin,norm", "dXin"), ("softmax", "dP", "dSm")]


def test_the_way_back_begins_at_the_loss():
    page = Page(engine.three_words(), step="softmax")
    forward = browser.script("return pageTests.all('.chapter-select option').map((each) => each.textContent)")
    page.go(step="softmax", route="back")
    shown = browser.script(WAY_BACK)
    first, last = forward.index("Embedding and positions"), forward.index("Loss")
    expect_equal(shown["chapters"][first:last + 1], forward[first:last + 1][::-1], "the chapters")
    expect(shown["isLeft"], "the gradient does not stand left")
    page.call("blur")
    browser.press("n")
    expect_equal(page.shown_step(), "mask", "after the softmax, on the way back")
    for step, arrives, leaves in PASSING:
        page.go(step=step, route="back")
        passes = browser.script(WAY_BACK)["passes"]
        expect_equal(tuple(passes), (f"What arrives: {arrives}", f"What leaves: {leaves}"), step)
    page.go(step="heads", route="back")
    expect_equal(browser.script(WAY_BACK)["passes"], [], "of a cut into heads, where nothing is made")


SHARES = """
return {
  patches: [...document.querySelectorAll("aside .looks_at [data-share]")].map((each) => ({
    row: Number(each.dataset.row), share: Number(each.dataset.share),
    depth: Number(each.getAttribute("fill-opacity")), isQuery: each.classList.contains("query"),
    said: each.querySelector("title").textContent, isClass: Boolean(each.closest(".class-token")),
    x: each.getBoundingClientRect().x, y: each.getBoundingClientRect().y })),
  most: document.querySelector("aside .looks_at .most")?.textContent,
};"""


def test_the_shares_over_the_patches_of_a_picture_are_the_row_of_p():
    lesson = engine.classifier()
    page = Page(lesson, step="softmax")
    for head in range(page.heads(page.layers()[0])):
        page.go(step="softmax", head=head)
        rows = page.rows()["P"]
        for query in (0, 1, len(rows) - 1):  # 0 is the class token
            page.cells([{"key": "P", "row": query, "column": 0}])
            found = browser.script(SHARES)
            patches = sorted(found["patches"], key=lambda each: each["row"])
            where = f"head {head}, query {query}"
            expect_equal([each["row"] for each in patches], list(range(len(rows))), f"{where}: rows")
            wanted = rows[query]
            deepest = max(each["depth"] for each in patches)
            for each, share in zip(patches, wanted):
                expect_near(each["share"], share, 1e-12, f"{where}: the share of row {each['row']}")
                expect_near(each["depth"] / deepest, share / max(wanted), 1e-6, f"{where}: how deep row {each['row']} is")
                expect_equal((each["isQuery"], each["isClass"]), (each["row"] == query, each["row"] == 0),
                             f"{where}: row {each['row']} is marked, is no patch")
            expect_in_order([each for each in patches if not each["isClass"]], where)
            best = patches[wanted.index(max(wanted))]
            expect(best["said"].split(":")[0] in found["most"], f"{where}: {found['most']!r}, not {best['said']}")
    for other, step, cell in ((lesson, "query", "Q.1.0"), (engine.decoder(), "softmax", "P.1.0")):
        Page(other, step=step, cell=cell)
        expect_equal(browser.script(SHARES)["patches"], [], f"{other.name}, {cell}: a picture of shares")


def expect_in_order(patches: list, where: str) -> None:
    """Line by line, as the model reads them."""
    side = round(len(patches) ** 0.5)
    lines = [patches[at:at + side] for at in range(0, len(patches), side)]
    for line in lines:
        expect(len({each["y"] for each in line}) == 1, f"{where}: a line of patches is not straight")
        expect(sorted(each["x"] for each in line) == [each["x"] for each in line], f"{where}: not from left to right")
    tops = [line[0]["y"] for line in lines]
    expect(sorted(set(tops)) == tops, f"{where}: not from above")


CASE = """return {
  banner: document.querySelector(".case")?.textContent ?? null,
  verdict: document.querySelector(".case [role=status]")?.textContent ?? "",
  struck: document.querySelector(".case del")?.textContent ?? "",
  note: document.querySelector("main [role=note]")?.textContent ?? "",
  wrong: pageTests.all("main .wrong").length,
  planted: document.getElementById("lesson").app.lesson.planted,
  address: location.hash,
  choice: document.querySelector("footer .break") !== null,
};"""

GUESS = """const select = document.querySelector(".case select");
const options = pageTests.all("option", select).map(({value}) => value).filter(Boolean);
select.value = arguments[0] ?? "";
select.dispatchEvent(new Event("change", {bubbles: true}));
return options;"""


def test_a_detectives_case_is_found_by_its_marks():
    """What is planted is not named, and a guess is answered by what is right and what is wrong."""
    page = Page(engine.decoder(), step="detective", head=0)
    expect_equal(browser.script("return pageTests.all('.detective button').length"), 6, "cases")
    planted = []
    for number in range(1, 7):
        page.go(step="detective")
        browser.script(f"pageTests.all('.detective button')[{number - 1}].click()")
        shown = browser.script(CASE)
        planted.append(shown["planted"])
        is_hidden = shown["planted"] not in shown["address"] and not shown["choice"]
        expect(f"case={number}" in shown["address"] and is_hidden, f"case {number}: {shown}")
        expect(not shown["note"] and not shown["verdict"], f"case {number} is named before it is found: {shown}")
        for option in browser.script(GUESS, None):
            browser.script(GUESS, option)
            after = browser.script(CASE)
            if option == shown["planted"]:
                expect(after["struck"] and after["note"], f"case {number}, {option}: it is found: {after}")
            else:
                is_told = bool(after["struck"] or after["note"])
                expect("No:" in after["verdict"] and not is_told, f"case {number}, {option}: {after}")
    expect(len(set(planted)) >= 4, f"the cases are {planted}")
    page.call("press", "close the case")
    expect_equal(browser.script(CASE)["banner"], None, "the case is closed")
    for number, mistake in enumerate(planted, 1):
        page.go(step="scores", case=number, head=0)
        marked = browser.script(CASE)["wrong"]
        page.go(step="scores", head=0, **{"break": mistake})
        expect_equal(browser.script(CASE)["wrong"], marked, f"case {number}: matrices that are red")


def numbers_at(page: Page, step: str, key: str) -> list:
    page.go(step=step)
    return page.rows()[key]


def test_each_example_shows_what_it_is_made_to_show():
    page = Page(engine.example("blackboard"))
    expect(not {"norm", "second_norm", "final_norm"} & set(page.steps()), f"a norm among {page.steps()}")
    for step, key in (("query", "Q"), ("key", "K"), ("value", "V")):
        numbers = [each for row in numbers_at(page, step, key) for each in row]
        expect(any(abs(each) >= 0.1 for each in numbers), f"{key}: {numbers}")
        for each in numbers:
            expect_near(10 * each, round(10 * each), 1e-12, f"{key} has {each}")
    page = Page(engine.example("bare"))
    expect(not {"query", "key", "value", "scale", "mask"} & set(page.steps()), f"steps {page.steps()}")
    expect("ledger" in page.steps(), "the three roles of X have their ledger")
    x, scores = numbers_at(page, "residual", "X"), numbers_at(page, "scores", "Z")
    for i, row in enumerate(x):
        for j, other in enumerate(x):
            expect_near(scores[i][j], sum(a * b for a, b in zip(row, other)), 1e-12, f"Z[{i},{j}]")
    page = Page(engine.example("thinking-machines"))
    expect_equal(numbers_at(page, "scores", "Z")[0], (28.0, 24.0), "q_1·k_1, q_1·k_2")
    expect_equal(numbers_at(page, "scale", "S")[0], (14.0, 12.0), "divided by 2")
    for share, wanted in zip(numbers_at(page, "softmax", "P")[0], (0.88, 0.12)):
        expect_near(share, wanted, 0.005, "the share")
