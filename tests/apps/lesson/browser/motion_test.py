"""What moves: short, an ornament, and nothing for those who want no motion."""

import browser
import engine
from page import Page
from report import expect, expect_equal

# Selects a cell as a key would, and looks at the next frame.
SELECTED = """
const [key, row, column, done] = arguments;
const { app } = document.getElementById("lesson");
app.select({ key, row, column });
const shown = document.querySelector("#cell-name").textContent;
requestAnimationFrame(() => requestAnimationFrame(() => done({
  shown,
  ghosts: [...document.querySelectorAll(".ghost")].map((ghost) => ghost.dataset.matrix),
  durations: document.getAnimations().map((each) => each.effect.getComputedTiming().endTime),
})));"""


def selected(page: Page, key: str, row: int, column: int) -> dict:
    return browser.driver().execute_async_script(SELECTED, key, row, column)


def test_row_and_column_meet_in_the_cell_and_addends_in_their_sum():
    page = Page(engine.three_words(), step="scores")
    for step, key, wanted in (("scores", "Z", ["Q", "Kt"]), ("scores", "dQ", ["Kt", "dZ"]),
                              ("residual", "R", ["X_in", "Y"]), ("ledger", "dX", ["dX_q", "dX_k", "dX_v"])):
        page.go(step=step)
        found = selected(page, key, 2, 1)
        expect(found["shown"].endswith("[2,1]"), f"{step}: the panel waits: {found['shown']}")
        expect_equal(sorted(found["ghosts"]), sorted(wanted), f"{step}: what runs into {key}")
        expect(all(0 < each < 300 for each in found["durations"]), f"{step}: {found['durations']} milliseconds")
    page.go(step="softmax")
    expect_equal(selected(page, "P", 1, 0)["ghosts"], [], "of a quotient")


def test_nothing_runs_for_who_wants_no_motion():
    browser.prefer(reduced_motion="reduce")
    page = Page(engine.three_words(), step="scores")
    found = selected(page, "Z", 2, 1)
    browser.prefer()
    expect_equal(found["ghosts"], [], "runs all the same")
    expect_equal(found["durations"], [], "animations")


def test_many_keys_leave_one_movement():
    page = Page(engine.three_words(), step="scores")
    page.call("focusMatrix", "Z")
    page.call("pressManyTimes", "ArrowDown", "ArrowUp", 50)
    found = selected(page, "Z", 2, 2)
    expect_equal(len(found["ghosts"]), 2, f"{found['ghosts']} run")


PLAYED = """
document.querySelector(".flow .play").click();
const timings = document.getAnimations().map((each) => each.effect.getComputedTiming());
return timings.map(({ duration, delay }) => ({ duration, delay }));"""


def test_the_opening_runs_forward_and_then_back():
    page = Page(engine.three_words(), step="glance")
    timings = browser.script(PLAYED)
    expect(len(timings) >= 30, f"only {len(timings)} stations and arrows appear")
    expect(all(0 < each["duration"] < 300 for each in timings), f"{timings}")
    browser.prefer(reduced_motion="reduce")
    page.go(step="glance")
    expect_equal(browser.script(PLAYED), [], "for who wants no motion")
    browser.prefer()


def test_a_station_of_the_opening_leads_to_its_step():
    for lesson in (engine.three_words(), engine.rotary(), engine.encoder_decoder(), engine.classifier()):
        page = Page(lesson, step="glance")
        links = browser.script("return pageTests.all('.flow a.station').map(({ hash }) => hash)")
        expect(len(links) >= 9, f"{lesson.name}: only {len(links)} stations")
        for link in links:
            browser.script("location.hash = arguments[0]", link)
            browser.driver().execute_async_script("setTimeout(arguments[0], 50)")
            shown = page.call("shown")["step"]
            expect(f"step={shown}" in link and shown != "glance", f"{lesson.name}: {link} leads to {shown}")
