"""The pages of `qkv lab --all --out`: they fit, speak both languages, lead somewhere, and their sliders are right."""

import math
import re
from html import unescape
from pathlib import Path

import browser
import engine
from reading_test import axe_source
from report import expect, expect_equal, expect_near

WIDTHS = (390, 1024, 1440)


def pages() -> Path:
    """Of labs whose trainings hardly begin: what they find is of no worth, how it is shown is the same."""
    quick = ["lab", "--all", "--steps", "5", "--seeds", "2"]

    def write(folder):
        engine.call_well(*quick, "--runs", folder / "runs", "--out", folder / "pages")

    return engine.made_once("lab-pages", quick, write) / "pages"


def all_pages() -> list:
    found = sorted(pages().glob("*.html"))
    expect(len(found) > 30, f"pages: {[page.name for page in found]}")
    return found


def flip_language() -> None:
    browser.script("document.querySelector('#language').click()")


def unfold() -> None:
    browser.script("document.querySelectorAll('details').forEach((part) => (part.open = true))")


# Texts of drawings that are not wholly inside of them.
CUT = """
    const cut = [];
    for (const svg of document.querySelectorAll("svg")) {
      const whole = svg.getBoundingClientRect();
      if (whole.width === 0) continue;
      for (const text of svg.querySelectorAll("text")) {
        const box = text.getBoundingClientRect();
        const isInside = box.left >= whole.left - 1 && box.right <= whole.right + 1
                         && box.top >= whole.top - 1 && box.bottom <= whole.bottom + 1;
        if (!isInside) cut.push(`${svg.getAttribute("aria-label")}: ${text.textContent}`);
      }
    }
    return cut;"""


def test_lab_pages_fit_and_ask_for_nothing():
    browser.prefer(color_scheme="light")
    for page in all_pages():
        browser.requests()
        browser.console()
        browser.open_page(page)
        unfold()
        for language in ("en", "zh"):
            if language == "zh":
                flip_language()
            for width in WIDTHS:
                browser.resize(width)
                wide = browser.script("return document.documentElement.scrollWidth")
                expect_equal(wide, width, f"{page.name}, {language}: the width of the page")
                cut = browser.script(CUT)
                expect(not cut, f"{page.name}, {language}, {width}: cut off: {cut[:5]}")
        asked = [address for address in browser.requests() if not address.startswith(("file:", "about:"))]
        expect(not asked, f"{page.name} asked for {asked}")
        said = browser.console()
        expect(not said, f"{page.name}, on the console: {said}")
    browser.resize(1280)


def test_lab_pages_flip_between_two_languages_and_take_the_choice_along():
    browser.open_page(pages() / "scaling.html")
    state = """return [document.documentElement.lang, location.search,
                       document.querySelector("details > summary").checkVisibility(),
                       [...document.querySelectorAll("details > summary")]
                           .filter((each) => each.checkVisibility())[0].textContent]"""
    expect_equal(browser.script(state)[0], "en", "the language before")
    flip_language()
    expect_equal(browser.script(state), ["zh-CN", "?lang=zh", False, "你预期会怎样？"], "after the button")
    browser.script("document.querySelector('nav a').click()")
    browser.driver().execute_async_script("setTimeout(arguments[0], 300)")
    found = browser.script("return [location.pathname.split('/').pop(), document.documentElement.lang, document.title]")
    expect_equal(found[:2], ["index.html", "zh-CN"], "the page that was followed to")
    expect(re.search("[一-龥]", found[2]) is not None, f"its title: {found[2]}")
    flip_language()
    expect_equal(browser.script("return document.documentElement.lang"), "en", "after the button once more")


def test_every_link_of_the_lab_pages_leads_somewhere():
    texts = {page.name: page.read_text(encoding="utf-8").split("<script")[0] for page in all_pages()}
    ids = {name: set(re.findall(r' id="([^"]+)"', text)) for name, text in texts.items()}
    for name, text in texts.items():
        found = re.findall(r' id="([^"]+)"', text)
        expect_equal(len(found), len(set(found)), f"{name}: ids that are there once")
        for address in map(unescape, re.findall(r'href="([^"]+)"', text)):
            if address.startswith("https://"):
                continue
            file, _, part = address.partition("#")
            expect((file or name) in texts, f"{name}: no page {file}")
            expect(not part or part in ids.get(file or name, ()), f"{name}: no place {address}")
    for name in ("index.html", "note-A.html", "note-B.html", "note-C.html", "note-D.html"):
        expect(name in texts, f"there is no {name}")


def test_an_accessibility_checker_finds_nothing_serious_in_lab_pages():
    source = axe_source()
    for name in ("index", "note-A", "scaling", "softmax", "sinusoid"):
        for scheme in ("light", "dark"):
            browser.prefer(color_scheme=scheme)
            browser.resize(390)
            browser.open_page(pages() / f"{name}.html")
            unfold()
            browser.script(source)
            found = browser.driver().execute_async_script("""
                const done = arguments[0];
                axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => done(violations
                    .filter(({ impact }) => impact === "serious" || impact === "critical")
                    .map(({ id, nodes }) => `${id}: ${nodes.length} times, ${nodes[0].html.slice(0, 160)} `
                         + `${nodes[0].any[0]?.message ?? ""}`)));""")
            for finding in found:
                expect(False, f"{name}, {scheme}: {finding}")
    browser.prefer()
    browser.resize(1280)


def slide(page: str, place: int) -> dict:
    """What the page's slider says at a place: {"choice": text, name: text, …}."""
    if browser.script("return location.pathname.split('/').pop()") != f"{page}.html":
        browser.open_page(pages() / f"{page}.html")
    return browser.script("""
        const box = document.querySelector(".slider"), input = box.querySelector("input");
        input.value = arguments[0];
        input.dispatchEvent(new Event("input"));
        const numbers = [...box.querySelectorAll("[data-number]")];
        return Object.fromEntries([["choice", box.querySelector("output").textContent],
                                   ...numbers.map((each) => [each.dataset.number, each.textContent])]);""", place)


def expect_numbers(found: dict, wanted: dict, what: str) -> None:
    expect_equal(set(found), {"choice", *wanted}, f"{what}: the numbers that are shown")
    for name, number in wanted.items():
        expect_near(float(found[name]), number, 6e-2 if abs(number) < 1e-3 else 6e-4, f"{what}: {name}")


def softmax(scores: list) -> list:
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def entropy(weights: list) -> float:
    return -sum(p * math.log(p) for p in weights if p > 0)


def random_normals(count: int) -> list:
    """mulberry32 from the seed of the page, by way of Box and Muller."""
    state, mask, numbers = 20170612, 0xFFFFFFFF, []

    def uniform() -> float:
        nonlocal state
        state = (state + 0x6D2B79F5) & mask
        t = ((state ^ (state >> 15)) * (1 | state)) & mask
        t = ((t + (((t ^ (t >> 7)) * (61 | t)) & mask)) & mask) ^ t
        return (t ^ (t >> 14)) / 2**32

    while len(numbers) < count:
        radius, angle = math.sqrt(-2 * math.log(1 - uniform())), 2 * math.pi * uniform()
        numbers += [radius * math.cos(angle), radius * math.sin(angle)]
    return numbers[:count]


def test_the_slider_of_scaling_is_right():
    for place, d in ((0, 1), (4, 16), (8, 256)):
        numbers = random_normals(80 * d)
        rows = [numbers[i * d:(i + 1) * d] for i in range(80)]
        scores = [[sum(a * b for a, b in zip(query, key)) for key in rows[16:]] for query in rows[:16]]
        every = [score for row in scores for score in row]
        mean = sum(every) / len(every)
        variance = sum((score - mean) ** 2 for score in every) / (len(every) - 1)
        expect(abs(variance / d - 1) < 0.5, f"the variance of the scores of d = {d} is {variance}")
        plain, divided = softmax(scores[0][:8]), softmax([score / math.sqrt(d) for score in scores[0][:8]])
        found = slide("scaling", place)
        expect_equal(found["choice"], str(d), "d")
        expect_numbers(found, {"variance": variance, "divided variance": variance / d, "largest weight": max(plain),
                               "divided largest weight": max(divided), "entropy": entropy(plain),
                               "divided entropy": entropy(divided)}, f"d = {d}")


def test_the_slider_of_softmax_is_right():
    for place, factor in ((0, 0), (3, 1), (5, 4), (6, 8)):
        p = softmax([factor * z for z in (1, 0.5, -0.5, -1)])
        back = [p[1] * ((i == 1) - p[i]) for i in range(4)]  # the second row of diag(p) - p pᵀ
        expect_numbers(slide("softmax", place), {"largest weight": max(p), "entropy": entropy(p),
                                                 "|dS|": math.hypot(*back), "sum of dS": 0}, f"times {factor}")


def test_the_slider_of_sinusoids_is_right():
    def product(a: int, b: int) -> float:
        """Of two encodings of 32 numbers: by the cosine of a difference."""
        return sum(math.cos((a - b) / 10000 ** (2 * i / 32)) for i in range(16))

    for t in (0, 1, 20, 63):
        expect_numbers(slide("sinusoid", t), {"|e|²": product(t, t), "next": product(t, t + 1),
                                              "previous": product(t, t - 1), "far": product(t, t + 16)}, f"t = {t}")


def test_the_slider_of_the_window_is_right():
    for r in (0, 1, 5, 23):
        pairs = sum(abs(i - j) <= r for i in range(24) for j in range(24))
        found = slide("restricted", r)
        expect_numbers(found, {"pairs": pairs, "by the formula": 24 * (2 * r + 1) - r * (r + 1),
                               "share": pairs / 24**2, "reach": min(23, 3 * r)}, f"r = {r}")
        cells = browser.script("return document.querySelectorAll('.slider svg [style*=\"--share: 60.0%\"]').length")
        expect_equal(cells, pairs, f"r = {r}: cells in colour")
