"""One walk over a whole page: every step of every layer and head, every matrix, some cells of each. What the page
says there is kept in a file, so that many tests can judge it."""

import json

import browser
import engine
from page import Page


def sampled(matrix: dict) -> list:
    """First, middle and last cell."""
    rows, columns = matrix["rows"], matrix["columns"]
    cells = [(0, 0), (rows // 2, columns // 2), (rows - 1, columns - 1)]
    return [{"key": matrix["key"], "row": row, "column": column} for row, column in dict.fromkeys(cells)]


def places_of(page: Page) -> list:
    """Each layer; of one its first and last head, of several these by turns."""
    places = []
    for at, layer in enumerate(page.layers()):
        heads = page.heads(layer)
        shown = {0, heads - 1} if len(page.layers()) == 1 else {(heads - 1) * (at % 2)}
        places += [{"layer": layer, "head": head, "heads": heads} for head in sorted(shown)]
    return places


def walk(page: Page, language: str):
    """Goes to every step, and gives (place, step)."""
    for place in places_of(page):
        page.go(layer=place["layer"], head=place["head"], lang=language)
        for step in page.steps():
            page.go(layer=place["layer"], head=place["head"], lang=language, step=step)
            yield place, step


def quiet() -> dict:
    """What was asked for, and said on the console, since the last look."""
    return {"requests": browser.requests(), "console": browser.console()}


def swept_now(lesson) -> list:
    quiet()
    page = Page(lesson)
    stops, known = [], set()
    for place, step in walk(page, "en"):
        matrices = page.matrices()
        for matrix in matrices:
            matrix["numbers"] = page.call("numbersOf", matrix["key"])
            # A matrix that many heads and layers have in common is asked once.
            identity = (matrix["key"], matrix["value"], tuple(matrix["numbers"]))
            matrix["cells"] = [] if identity in known else page.cells(sampled(matrix))
            known.add(identity)
        stops.append({"place": place, "step": step, "matrices": matrices, **quiet()})
    return stops


def sweep(lesson) -> list:
    def write(here):
        (here / "stops.json").write_text(json.dumps(swept_now(lesson)))

    made = engine.made_once(f"sweep-{lesson.name}", [*lesson.explain, sources()], write)
    return json.loads((made / "stops.json").read_text())


def sources() -> list:
    """When the tests last changed: what they found before does not count."""
    return [file.stat().st_mtime_ns for file in sorted(engine.ROOT.glob("tests/page/*"))
            if file.name in ("sweep.py", "page.py", "in_page.js", "browser.py", "engine.py")]


def matrices_of(lesson):
    """(where, place, matrix) of all stops."""
    for stop in sweep(lesson):
        place = stop["place"]
        for matrix in stop["matrices"]:
            where = f"{lesson.name}, {place['layer']}, head {place['head']}, {stop['step']}, {matrix['key']}"
            yield where, place, matrix


def cells_of(lesson):
    """(where, matrix, cell) of all sampled cells."""
    for where, _, matrix in matrices_of(lesson):
        for cell in matrix["cells"]:
            yield f"{where}[{cell['row']},{cell['column']}]", matrix, cell
