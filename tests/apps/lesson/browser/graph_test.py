"""The drawing of the graph is the tape's: its ops, who reads what, what is kept, where gradients come back and are
added up. What it must be is worked out here from the document."""

import browser
import engine
from page import Page
from report import expect, expect_equal

COPIES = ("reshape", "permute", "broadcast_to")

DRAWN = """
const drawing = document.querySelector(".drawn-layer svg");
const all = (selector) => [...drawing.querySelectorAll(selector)];
const boxOf = (each) => { const { x, y, width, height } = each.getBBox(); return { x, y, width, height }; };
return {
  ops: all("[data-op]").map((each) => ({ op: Number(each.dataset.op), text: each.textContent, box: boxOf(each) })),
  values: all("[data-value]").map((each) => ({
    value: Number(each.dataset.value), box: boxOf(each),
    keptBy: each.querySelector(":scope > .kept title")?.textContent ?? null,
    hasGradient: Boolean(each.querySelector(".backward")),
    links: [...each.querySelectorAll("a")].map((a) => ({
      href: a.getAttribute("href"), text: a.querySelector("text").textContent,
      isBackward: a.classList.contains("backward") })) })),
  edges: all("path.edge").map((each) => ({
    from: each.dataset.from ?? null, to: each.dataset.to, isBackward: each.classList.contains("backward") })),
  sums: all("[data-gradient]").map((each) => ({
    gradient: Number(each.dataset.gradient), addends: Number(each.dataset.addends) })),
  label: drawing.getAttribute("aria-label"),
};"""


def drawn(page: Page, layer: str, **state) -> dict:
    page.go(layer=layer, step="graph", **state)
    return browser.script(DRAWN)


class Tape:
    """What a document says of its ops."""

    def __init__(self, document):
        self.document = document
        self.ops = document.json["ops"]
        self.forward = self.ops[:document.json["forward_ops"]]
        self.makers = {op["output"]: at for at, op in enumerate(self.ops)}

    def is_within(self, at: int, layer: str) -> bool:
        return f"{self.ops[at].get('scope') or ''}.".startswith(f"{layer}.")

    def is_copy(self, at: int) -> bool:
        return self.ops[at]["op"] in COPIES

    def computing_ops(self, layer: str) -> set:
        """Ops that compute something, forward."""
        return {at for at, op in enumerate(self.forward) if self.is_within(at, layer) and not self.is_copy(at)}

    def source(self, value: int) -> int:
        """Through copies."""
        at = self.makers.get(value)
        return self.source(self.ops[at]["inputs"][0]) if at is not None and self.is_copy(at) else value

    def leaves(self, gradient: int, is_whole: bool = True) -> list:
        """What a gradient is the sum of."""
        at = self.makers.get(gradient)
        if not is_whole and gradient in self.document.gradient_of or at is None or not self.is_addition(at):
            return [gradient]
        return [leaf for value in self.ops[at]["inputs"] for leaf in self.leaves(value, False)]

    def is_addition(self, at: int) -> bool:
        op = self.ops[at]
        return at >= len(self.forward) and op["op"] == "add" and op.get("backward_of") is None


def expect_every_op(tape: Tape, layer: str, found: dict, where: str) -> None:
    """But those that only move numbers; and around the layer what the residual stream needs."""
    shown = [each["op"] for each in found["ops"]]
    expect_equal(len(shown), len(set(shown)), f"{where}: each op once")
    wanted = tape.computing_ops(layer)
    expect(len(wanted) >= 7, f"{where}: only the ops {wanted}")
    expect(wanted <= set(shown), f"{where}: not drawn: {wanted - set(shown)}")
    around = {tape.ops[at]["op"] for at in set(shown) - wanted}
    expect(around <= {"layer_norm", "rms_norm", "add"}, f"{where}: also drawn: {around}")
    for each in found["ops"]:
        expect(tape.ops[each["op"]]["op"] in each["text"], f"{where}: {each['text']} for {each['op']}")
    expect(layer in found["label"], f"{where}: it is called {found['label']!r}")


def pairs_of(found: dict, is_backward: bool) -> set:
    """Which op reads what which op made: along the edges, through values."""
    ways = {}
    for edge in found["edges"]:
        if edge["from"] is not None and edge["isBackward"] == is_backward:
            ways.setdefault(edge["from"], set()).add(edge["to"])

    def readers(node: str) -> set:
        after = ways.get(node, set())
        return {each for each in after if each.startswith("op")}.union(
            *(readers(each) for each in after if not each.startswith("op")))

    numbers = {name: int(name.split()[1]) for name in ways if name.startswith("op")}
    return {(number, int(reader.split()[1])) for name, number in numbers.items() for reader in readers(name)}


def expect_who_reads_what(tape: Tape, found: dict, where: str) -> None:
    """Forward every one of them; back those along which a gradient came: in a layer all that is computed is learned."""
    shown = {each["op"] for each in found["ops"]}
    wanted = {(tape.makers[tape.source(value)], at) for at in shown for value in tape.ops[at]["inputs"]
              if tape.makers.get(tape.source(value)) in shown}
    expect(len(wanted) >= len(shown) - 2, f"{where}: only {wanted}")
    for is_backward in (False, True):
        expect_equal(pairs_of(found, is_backward), wanted, f"{where}: back: {is_backward}")


def expect_what_is_kept(tape: Tape, found: dict, where: str) -> None:
    kept = {}
    for at in (each["op"] for each in found["ops"]):
        op = tape.ops[at]
        for name in op.get("kept") or []:
            value = (op["output"] if name == "output" else op["inputs"][int(name[6:])] if name.startswith("input ")
                     else (op["attributes"].get(name) or {}).get("value"))
            if value is not None and tape.document.values[value]["kind"] != "parameter":
                kept.setdefault(tape.source(value), set()).add(op["op"])
    marked = {tape.source(each["value"]): each["keptBy"] for each in found["values"] if each["keptBy"]}
    expect(len(kept) >= 5, f"{where}: only {kept} are kept")
    expect_equal(set(marked), set(kept), f"{where}: kept")
    for value in set(marked) & set(kept):
        expect(all(op in marked[value] for op in kept[value]), f"{where}: {marked[value]}; kept by {kept[value]}")


def signs_that_are_right(tape: Tape, layer: str, found: dict, where: str) -> int:
    """Each addition of gradients has its sign."""
    signs = 0
    sums = {each["gradient"]: each["addends"] for each in found["sums"]}
    gradients = {fact.get("gradient") for fact in tape.document.values}
    for at, op in enumerate(tape.ops):
        if tape.is_addition(at) and tape.is_within(at, layer) and op["output"] in gradients:
            wanted = len(tape.leaves(op["output"]))
            signs += expect_equal(sums.get(op["output"]), wanted, f"{where}: the addends of {op['output']}")
    for gradient, addends in sums.items():
        arriving = [edge for edge in found["edges"] if edge["isBackward"] and gradient in gradients_of(tape.document, edge)]
        expect_equal(len(arriving), addends, f"{where}: ways into the sum {gradient}")
    return signs


def gradients_of(document, edge: dict) -> list:
    """Of the value that a way back leads to: a dashed line is named from above."""
    node = edge["from"] or edge["to"]
    if not node.startswith("value"):
        return []
    value = int(node.split()[1])
    gradient = document.values[value].get("gradient")
    last = max((at for at, fact in enumerate(document.values) if fact.get("gradient") == gradient), default=None)
    return [gradient] if gradient is not None and last == value else []


def followed_links(page: Page, found: dict, where: str) -> int:
    """Each value leads to its step."""
    links = [(each["value"], link) for each in found["values"] for link in each["links"]]
    for value, link in links:
        page.call("go", link["href"])
        shown = {matrix["key"]: matrix for matrix in page.matrices()}
        key = page.call("chosen")["key"]
        if link["isBackward"]:
            value = page.lesson.document.values[value].get("gradient", shown[key]["value"])
        expect_equal((shown[key]["value"], shown[key]["isGradient"], key.replace("_", "")),
                     (value, link["isBackward"], link["text"]), f"{where}, {link['href']}")
    return len(links)


def test_the_graph_of_each_layer_is_what_its_tape_says():
    signs = 0
    for lesson in engine.all_lessons():
        page, tape, followed = Page(lesson), Tape(lesson.document), 0
        for layer in page.layers():
            where = f"{lesson.name}, {layer}"
            found = drawn(page, layer)
            expect_every_op(tape, layer, found, where)
            expect_who_reads_what(tape, found, where)
            expect_what_is_kept(tape, found, where)
            signs += signs_that_are_right(tape, layer, found, where)
            if lesson.name == "rotary":
                followed += followed_links(page, found, where)
        expect(followed >= 20 or lesson.name != "rotary", f"{lesson.name}: only {followed} links")
    expect(signs >= 5, f"only {signs} additions are within layers")


def overlaps(a: dict, b: dict) -> bool:
    return (a["x"] < b["x"] + b["width"] - 1 and b["x"] < a["x"] + a["width"] - 1
            and a["y"] < b["y"] + b["height"] - 1 and b["y"] < a["y"] + a["height"] - 1)


def test_nothing_in_the_graph_lies_on_something_else():
    """Whatever form the model has; and what is read stands above what reads it."""
    for lesson in (engine.decoder(), engine.encoder_decoder()):
        page = Page(lesson)
        forms = page.call("forms")
        for form in [None, *forms]:
            layer = page.layers()[-1]
            found = drawn(page, layer, form=form)
            where = f"{lesson.name}, {form}"
            boxes = {f"op {each['op']}": each["box"] for each in found["ops"]}
            boxes.update({f"value {each['value']}": each["box"] for each in found["values"]})
            names = sorted(boxes)
            for at, name in enumerate(names):
                for other in names[:at]:
                    expect(not overlaps(boxes[name], boxes[other]), f"{where}: {name} lies on {other}")
            for edge in found["edges"]:
                if edge["from"] is None:
                    continue
                upper, lower = boxes[edge["from"]], boxes[edge["to"]]
                expect(upper["y"] + upper["height"] < lower["y"], f"{where}: {edge['from']} is below {edge['to']}")


def test_the_graph_follows_switches_and_planted_mistakes():
    lesson = engine.decoder()
    page = Page(lesson)
    layer = page.layers()[0]
    addends = {}
    for name, state in (("recorded", {}), ("cut", {"residual": 0}), ("wrong", {"break": "overwritten"})):
        found = drawn(page, layer, **state)
        addends[name] = sorted(each["addends"] for each in found["sums"])
        sums = [each for each in found["ops"] if lesson.document.json["ops"][each["op"]]["op"] == "add"]
        expect_equal(len(sums), 0 if name == "cut" else 1, f"{name}: sums with the residual stream")
    expect_equal(addends, {"recorded": [2, 2, 3], "cut": [3], "wrong": [2, 2]}, "how gradients are added up")
