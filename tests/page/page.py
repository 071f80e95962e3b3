"""A lesson's page in the browser, as its reader would know it: by addresses, roles and labels."""

from pathlib import Path
from urllib.parse import urlencode

import browser

IN_PAGE = (Path(__file__).parent / "in_page.js").read_text(encoding="utf-8")


def address(**state) -> str:
    """address(step="softmax", head=1, edit=["3.0=0.5"])"""
    return "#" + urlencode({name: x for name, x in state.items() if x is not None}, doseq=True)


class Page:
    def __init__(self, lesson, **state):
        self.lesson = lesson
        browser.open_page(lesson.page, address(**{"lang": "en", **state}))
        browser.script(IN_PAGE)
        if not self.steps():
            raise RuntimeError(f"{lesson.name}: the page does not begin; on the console: {browser.console()}")

    def call(self, function: str, *arguments):
        """A function of in_page.js, with what it promises."""
        found = browser.driver().execute_async_script(
            "const done = arguments[arguments.length - 1];"
            f"Promise.resolve(pageTests.{function}(...[...arguments].slice(0, -1)))"
            ".then((result) => done({result}), (error) => done({error: String(error.stack ?? error)}));",
            *arguments)
        if "error" in found:
            raise RuntimeError(f"{self.lesson.name}, {function}: {found['error']}")
        return found.get("result")

    def go(self, **state) -> None:
        self.call("go", address(**{"lang": "en", **state}))

    def steps(self) -> list:
        return self.call("steps")

    def layers(self) -> list:
        return self.lesson.document.meta["layers"]

    def heads(self, layer: str) -> int:
        document = self.lesson.document
        return document.shape(document.named[f"{layer}.weights"])[1]

    def matrices(self) -> list:
        """Those of the step that is open: {key, value, rows, columns}."""
        return self.call("matrices")

    def cells(self, wanted: list) -> list:
        """What the page says of cells {key, row, column} of the step that is open."""
        return self.call("cells", wanted)
