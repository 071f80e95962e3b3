"""A question takes something for granted. It is asked only where that is so: of every kind of model, with every switch,
form and mistake, each premise is looked up in the numbers on the page."""

import itertools
import math

import engine
from page import Page, rows_of
from report import expect

NEARLY = 1e-6


class Step:
    """The matrices of a step, by their keys."""

    def __init__(self, matrices: list, noise: float):
        self.first = matrices[0]["key"] if matrices else None
        self.noise = noise
        self.rows = {}
        for matrix in matrices:
            self.rows[matrix["key"]] = rows_of(matrix)

    def has(self, *keys: str) -> bool:
        return all(key in self.rows for key in keys)

    def numbers(self, key: str) -> list:
        return [x for row in self.rows[key] for x in row]

    def is_zero(self, numbers) -> bool:
        return all(abs(x) <= self.noise for x in numbers)

    def is_multiple(self, key: str, other: str):
        """The factor, or None."""
        a, b = self.numbers(key), self.numbers(other)
        at = max(range(len(b)), key=lambda i: abs(b[i]))
        if len(a) != len(b) or b[at] == 0:
            return None
        factor = a[at] / b[at]
        size = max(map(abs, a))
        return factor if all(abs(x - factor * y) <= NEARLY * size for x, y in zip(a, b)) else None

    def rows_sum_to_zero(self, key: str) -> bool:
        size = max(map(abs, self.numbers(key)))
        return all(abs(math.fsum(row)) <= NEARLY * size + self.noise for row in self.rows[key])

    def gradient_of_first(self) -> str:
        return next(key for key in self.rows if key.startswith(f"d{self.first}"))

    def is_at_right_angle(self) -> bool:
        rows = zip(self.rows[self.first], self.rows[self.gradient_of_first()])
        return all(abs(math.fsum(x * d for x, d in zip(*pair)))
                   <= NEARLY * math.fsum(abs(x * d) for x, d in zip(*pair)) + self.noise for pair in rows)

    def hidden_cells(self, key: str, of: str):
        """(number in `of` where `key` is -∞ or 0)"""
        return [y for x, y in zip(self.numbers(key), self.numbers(of)) if x in (0.0, -math.inf)]

    def is_divided(self) -> bool:
        """dZ is dS by the same number as S is Z."""
        if not any(self.numbers("dZ")):
            return True
        after = next(key for key in self.rows if key not in ("Z", "dZ") and not key.startswith("d"))
        forward, back = self.is_multiple(after, "Z"), self.is_multiple("dZ", f"d{after}")
        return forward is not None and back is not None and math.isclose(forward, back, rel_tol=NEARLY)

    def is_one_by_distance(self, key: str) -> bool:
        rows = self.rows[key]
        return all(a[:-1] == b[1:] for a, b in zip(rows, rows[1:]))

    def scores(self) -> str:
        return "S_m" if self.has("S_m") else "S"

    def shares(self) -> list:
        return [key for key in self.rows if key.startswith("dX_") and key not in ("dX_in", "dX_enc")]

    def is_sum_of_shares(self) -> bool:
        total = self.numbers(next(key for key in ("dX", "dX_enc", "dX_in") if self.has(key)))
        parts = [self.numbers(key) for key in (*self.shares(), *(["dR"] if self.has("dR") else []))]
        size = max(map(abs, total)) or 1.0
        return all(abs(x - math.fsum(terms)) <= NEARLY * size for x, terms in zip(total, zip(*parts)))


PREMISES = {
    "Why is row 0 of dQ zero?": lambda s: s.is_zero(s.rows["dQ"][0]),
    "Why is db_k zero?": lambda s: s.is_zero(s.numbers("db_k")),
    "What happens to the gradient?": Step.is_divided,
    "Which cells of B share one number?": lambda s: s.is_one_by_distance("B"),
    "dP is not zero where the mask hides. Is dS?":
        lambda s: set(s.hidden_cells("S_m", "dS_m")) == {0.0} and -math.inf in s.numbers("S_m"),
    "Why does dP exist where the mask hides?": lambda s: any(s.hidden_cells("P", "dP")),
    "Why do the rows of dS sum to 0?": lambda s: s.rows_sum_to_zero(f"d{s.scores()}"),
    "Why do the rows of dlogits sum to 0?": lambda s: s.rows_sum_to_zero("dlogits"),
    "Which path brings most?": Step.is_sum_of_shares,
    "Would the layer below learn if attention passed nothing back?":
        lambda s: s.is_sum_of_shares() and not s.is_zero(s.numbers("dR")),
    "How is dR shared between what came in and Y?": lambda s: s.rows["dY"] == s.rows["dR"],
    "Why does each row of the first gradient sum to 0?":
        lambda s: s.rows_sum_to_zero(s.gradient_of_first()),
    "What of a row is lost?": Step.is_at_right_angle,
    "Why do dA and de get the same gradient?": lambda s: s.rows["dA"] == s.rows["de"],
    "Which rows of dW_E are zero?":
        lambda s: any(s.is_zero(row) for key in s.rows if key.startswith("dW_E") for row in s.rows[key]),
    "Does one head's gradient reach another's band here?": lambda s: len(s.rows["K_all"][0]) == len(s.rows["Q_all"][0]),
    "What gradient does a band of K get that several heads share?":
        lambda s: len(s.rows["K_all"][0]) < len(s.rows["Q_all"][0]),
}

# Of these nothing has to be so, or the answer says itself where.
ALWAYS = {
    "What does a score give back to its query?", "Who adds to the gradient of one key?",
    "Who adds to the gradient of row j of V?",
    "Why is dW_q a product of X and dQ?", "Which of Q, K and V gets its gradient without softmax?",
    "How does the gradient go back through a rotation?", "What does concatenation do to the gradient?",
    "Which head does the loss want to change most?", "Does row i of U depend on other tokens?",
    "Where does little gradient pass?", "Which features carry the row?", "Which row had to be stretched most?",
    "What does its gain g learn?", "Where do two gradients meet going back?",
    "Why is the gradient of a row a mixture of columns of W?", "Where are gradients added up, and why there?",
    "Which head looks at one place only, and which at everything?",
    "Which falls first, the loss or the entropy of a head?",
}

SWITCHES = [{"causal": 0}, {"causal": 1}, {"scale": 0}, {"bias": 0}, {"residual": 0}, {"window": 1}]
MISTAKES = ["scale", "mask", "row_sum", "transpose", "overwritten", "residual"]


def asked_at(page: Page, where: str, question: dict, matrices: list):
    """What a step asks, None for nothing; what it takes for granted is so."""
    ask = question and question["ask"]
    is_telling = ask is not None and ask not in ALWAYS
    if is_telling and expect(ask in PREMISES, f"{where}: nobody knows what {ask!r} takes for granted"):
        noise = 1e-10 * page.lesson.document.largest_gradient
        expect(PREMISES[ask](Step(matrices, noise)), f"{where}: it is not so, and the page asks {ask!r}")
    return ask


def multi_query():
    settings = ["model.num_layers=1", "model.num_heads=4", "attention.num_key_value_heads=2"]
    return engine.Lesson("multi-query", [engine.run("multi-query", "reverse", *engine.DIGITS, *settings), "--prompt", "012="])


def test_what_a_question_takes_for_granted_is_so():
    """In each layer, and with each change in one of them."""
    asked, lessons = {}, [*engine.all_lessons(), multi_query()]
    for lesson in lessons:
        page = Page(lesson)
        for where, state, found in page.every_layers_step("question", "numberedMatrices"):
            asked.setdefault(state["step"], set()).add(asked_at(page, where, *found))
    # A step that asks the same question of ALWAYS on every page asks it whatever the numbers are.
    telling = {step for step, asks in asked.items() if len(asks) != 1 or not asks <= ALWAYS}
    for lesson in (engine.three_words(), engine.encoder_decoder(), engine.rotary()):
        page = Page(lesson)
        changes = [*SWITCHES, *({"break": mistake} for mistake in MISTAKES), *({"form": form} for form in page.call("forms"))]
        for layer, change in zip(itertools.cycle(page.layers()), changes):
            page.go(layer=layer, **change)
            steps = [step for step in page.steps() if step in telling or step not in asked]
            states = [{"layer": layer, "step": step, **change} for step in steps]
            for state, found in zip(states, page.tour(states, "question", "numberedMatrices")):
                asked.setdefault(state["step"], set()).add(asked_at(page, f"{lesson.name}, {state}", *found))
    never = (set(PREMISES) | ALWAYS) - set().union(*asked.values()) - {"Which falls first, the loss or the entropy of a head?"}
    expect(not never, f"no page asks {never}")
