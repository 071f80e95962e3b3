"""A lesson's page in the browser, as its reader would know it: by addresses, roles and labels."""

import base64
import struct
from pathlib import Path
from urllib.parse import urlencode

import browser

IN_PAGE = [(Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("in_page.js", "in_page_reader.js")]


def address(**state) -> str:
    """address(step="softmax", head=1, edit=["3.0=0.5"])"""
    return "#" + urlencode({name: x for name, x in state.items() if x is not None}, doseq=True)


def page_address(state: dict) -> str:
    """In English, if nothing else is said."""
    return address(**{"lang": "en", **state})


def decoded(numbers: str) -> tuple:
    """As in_page.js packs them."""
    data = base64.b64decode(numbers)
    return struct.unpack(f"<{len(data) // 8}d", data)


def rows_of(matrix: dict) -> list:
    numbers, columns = decoded(matrix["numbers"]), matrix["columns"]
    return [numbers[at:at + columns] for at in range(0, len(numbers), columns)]


class Page:
    """The page that is open already is not opened anew for another state of it: see browser.leave()."""

    def __init__(self, lesson, **state):
        self.lesson = lesson
        if browser.is_open(lesson.page):
            self.go(**state)
            return
        browser.open_page(lesson.page, page_address(state))
        browser.script("\n".join(IN_PAGE))
        if not self.steps():
            raise RuntimeError(f"{lesson.name}: the page does not begin; on the console: {browser.console()}")

    def call(self, function: str, *arguments):
        """A function of in_page*.js, with what it promises."""
        found = browser.wait_for(
            f"Promise.resolve(pageTests.{function}(...[...arguments].slice(0, -1)))"
            ".then((result) => done({result}), (error) => done({error: String(error.stack ?? error)}));",
            *arguments)
        if "error" in found:
            raise RuntimeError(f"{self.lesson.name}, {function}: {found['error']}")
        return found.get("result")

    def go(self, **state) -> None:
        self.call("go", page_address(state))

    def tour(self, states: list, *looks) -> list:
        """Goes to each state, and tells what functions find there. looks: names, or [name, argument, …]."""
        found = self.visit([(state, looks) for state in states])
        return [seen[0] for seen in found] if len(looks) == 1 else found

    def visit(self, stops: list) -> list:
        """[(state, looks)]: the same, with looks of its own for each."""
        return self.call("tour", [[page_address(state), [[look] if isinstance(look, str) else look for look in looks]]
                                  for state, looks in stops])

    def every_step(self, *looks, **state):
        """(where, state, what is found) at each step."""
        self.go(**state)
        states = [{**state, "step": step} for step in self.steps()]
        for each, found in zip(states, self.tour(states, *looks)):
            yield ", ".join([self.lesson.name, *(f"{name}={x}" for name, x in each.items())]), each, found

    def every_layers_step(self, *looks, **state):
        for layer in self.layers():
            yield from self.every_step(*looks, layer=layer, **state)

    def steps(self) -> list:
        return self.call("steps")

    def shown_step(self) -> str:
        return self.call("shown")["step"]

    def loss(self) -> float:
        return float(self.call("computed")["loss"])

    def layers(self) -> list:
        return self.lesson.document.meta["layers"]

    def heads(self, layer: str) -> int:
        document = self.lesson.document
        return document.shape(document.named[f"{layer}.weights"])[1]

    def matrices(self) -> list:
        """Those of the step that is open: {key, value, rows, columns, …}."""
        return self.call("matrices")

    def rows(self) -> dict:
        """The numbers of each matrix, by its key."""
        return {matrix["key"]: rows_of(matrix) for matrix in self.call("numberedMatrices")}

    def cell_name(self):
        """Of the cell that is chosen, or None."""
        return browser.script("return document.querySelector('#cell-name')?.textContent ?? null")

    def cells(self, wanted: list) -> list:
        """What the page says of cells {key, row, column} of the step that is open."""
        return self.call("cells", wanted)
