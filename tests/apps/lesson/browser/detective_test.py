"""A detective: what is planted is not named, and a guess is answered by what is right and what is wrong."""
import browser
import engine
from page import Page
from report import expect, expect_equal

SHOWN = """return {
  banner: document.querySelector(".case")?.textContent ?? null,
  verdict: document.querySelector(".case [role=status]")?.textContent ?? "",
  struck: document.querySelector(".case del")?.textContent ?? "",
  note: document.querySelector("main [role=note]")?.textContent ?? "",
  wrong: pageTests.all("main .wrong").length,
  planted: document.getElementById("lesson").app.lesson.planted,
  names: location.hash,
  choice: document.querySelector("footer .break") !== null,
};"""

GUESS = """const select = document.querySelector(".case select");
const options = pageTests.all("option", select).map(({value}) => value).filter(Boolean);
select.value = arguments[0] ?? "";
select.dispatchEvent(new Event("change", {bubbles: true}));
return options;"""


def test_a_case_is_found_by_its_marks():
    page = Page(engine.decoder(), step="detective", head=0)
    count = len(browser.script("return pageTests.all('.detective button').map((each) => each.textContent)"))
    expect_equal(count, 6, "cases")
    planted = []
    for number in range(1, count + 1):
        page.go(step="detective")
        browser.script(f"pageTests.all('.detective button')[{number - 1}].click()")
        shown = browser.script(SHOWN)
        planted.append(shown["planted"])
        is_hidden = shown["planted"] not in shown["names"] and not shown["choice"]
        expect(f"case={number}" in shown["names"] and is_hidden, f"case {number}: {shown}")
        expect(not shown["note"] and not shown["verdict"], f"case {number} is named before it is found: {shown}")
        for option in browser.script(GUESS, None):
            browser.script(GUESS, option)
            after = browser.script(SHOWN)
            if option == shown["planted"]:
                expect(after["struck"] and after["note"], f"case {number}, {option}: it is found: {after}")
            else:
                is_told = bool(after["struck"] or after["note"])
                expect("No:" in after["verdict"] and not is_told, f"case {number}, {option}: {after}")
    expect(len(set(planted)) >= 4, f"the cases are {planted}")
    page.call("press", "close the case")
    expect_equal(browser.script(SHOWN)["banner"], None, "the case is closed")


def test_marks_of_a_case_are_those_of_the_planted_mistake():
    page = Page(engine.decoder(), step="scores", head=0)
    for number in range(1, 7):
        page.go(step="scores", case=number)
        shown = browser.script(SHOWN)
        page.go(step="scores", **{"break": shown["planted"]})
        expect_equal(browser.script(SHOWN)["wrong"], shown["wrong"], f"case {number}: matrices that are red")
