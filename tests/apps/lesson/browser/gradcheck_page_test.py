"""The page of `qkv gradcheck --html`: it fits, asks for nothing, and its links open what they lead to."""

import browser
import engine
from report import expect, expect_equal

WIDTHS = (360, 1400)


def page_of(*arguments: str):
    recipe = list(arguments)
    name = "gradcheck-" + "-".join(argument.strip("-") for argument in arguments)
    here = engine.made_once(
        name, recipe, lambda folder: engine.call_well("gradcheck", *arguments, "--html", folder / "page.html"))
    return here / "page.html"


def test_the_page_of_a_gradient_check_fits_and_asks_for_nothing():
    path = page_of("--op", "layer_norm", "--op", "softmax", "--mutate")
    for scheme in ("light", "dark"):
        browser.prefer(color_scheme=scheme)
        for width in WIDTHS:
            browser.resize(width)
            browser.requests()
            browser.open_page(path)
            browser.script("document.querySelectorAll('details').forEach((part) => (part.open = true))")
            wide = browser.script("return document.documentElement.scrollWidth")
            expect_equal(wide, width, f"{scheme}, {width}: the width of the page")
            asked = [address for address in browser.requests() if not address.startswith(("file:", "about:"))]
            expect(not asked, f"{scheme}, {width}: asked for {asked}")
    browser.prefer()
    said = browser.console()
    expect(not said, f"on the console: {said}")


def test_a_link_to_an_op_of_a_gradient_check_opens_it():
    browser.resize(1400)
    browser.open_page(page_of("--op", "layer_norm", "--op", "softmax", "--mutate"))
    opened = "return [...document.querySelectorAll('details[open] > summary b')].map((name) => name.textContent)"
    expect_equal(browser.script(opened), [], "open before")
    browser.script("[...document.querySelectorAll('a')].find((link) => link.textContent === 'softmax').click()")
    expect_equal(browser.script(opened), ["softmax"], "open after")
