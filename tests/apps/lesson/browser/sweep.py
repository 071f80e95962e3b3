"""One walk over a whole page: every step of every layer and head, every matrix, some cells of each. What the page
says there is kept in a file, so that many tests can judge it."""

import json

import browser
import engine
from page import Page, decoded


def places_of(page: Page) -> list:
    """Each layer; of one its first and last head, of several these by turns."""
    places = []
    for at, layer in enumerate(page.layers()):
        heads = page.heads(layer)
        shown = {0, heads - 1} if len(page.layers()) == 1 else {(heads - 1) * (at % 2)}
        places += [{"layer": layer, "head": head, "heads": heads} for head in sorted(shown)]
    return places


def states_of(page: Page, place: dict) -> list:
    """Of all steps there."""
    state = {"layer": place["layer"], "head": place["head"]}
    page.go(**state)
    return [{**state, "step": step} for step in page.steps()]


def quiet() -> dict:
    """What was asked for, and said on the console, since the last look."""
    return {"requests": browser.requests(), "console": browser.console()}


def swept_now(lesson) -> list:
    quiet()
    page = Page(lesson)
    places = []
    for place in places_of(page):
        states = states_of(page, place)
        matrices = page.tour(states, "wholeStep")
        steps = [{"step": state["step"], "matrices": found} for state, found in zip(states, matrices)]
        places.append({"place": place, "steps": steps, **quiet()})
    return places


def sweep(lesson) -> list:
    def write(here):
        (here / "places.json").write_text(json.dumps(swept_now(lesson)))

    made = engine.made_once(f"sweep-{lesson.name}", [*lesson.explain, sources()], write)
    return json.loads((made / "places.json").read_text())


def sources() -> list:
    """When the tests last changed: what they found before does not count."""
    return [file.stat().st_mtime_ns for file in sorted(engine.ROOT.glob("tests/apps/lesson/browser/*"))
            if file.name in ("sweep.py", "page.py", "in_page.js", "browser.py", "engine.py")]


def matrices_of(lesson):
    """(where, place, matrix) of all steps."""
    for swept in sweep(lesson):
        place = swept["place"]
        for step in swept["steps"]:
            for matrix in step["matrices"]:
                where = f"{lesson.name}, {place['layer']}, head {place['head']}, {step['step']}, {matrix['key']}"
                yield where, place, matrix


def cells_of(lesson):
    """(where, matrix, cell) of all sampled cells, with the number that the cell has in its matrix."""
    for where, _, matrix in matrices_of(lesson):
        if not matrix["cells"]:
            continue
        numbers = decoded(matrix["numbers"])
        for cell in matrix["cells"]:
            cell["in_matrix"] = numbers[cell["row"] * matrix["columns"] + cell["column"]]
            yield f"{where}[{cell['row']},{cell['column']}]", matrix, cell
