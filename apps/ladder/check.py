"""Checks a student's file: forward against the engine, backward against the engine's gradients, and finds by which
mistake a wrong number comes about."""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import formulas
import sandbox
from child import encoded
from rungs import RUNGS, Part, Rung, inputs, leaves, of_engine
from sandbox import Refused

TOLERANCE = 1e-8  # of the largest number of an array: f64 has sixteen digits


@dataclass
class Verdict:
    kind: str  # the name of its sentence in texts.toml; "" where all is right
    function: str = ""
    facts: dict = field(default_factory=dict)
    element: dict = field(default_factory=dict)  # the first number that is wrong: what the report shows of it
    is_slip: bool = False  # a mistake that the formulas can make


@dataclass
class Call:
    part: Part
    square: bool
    args: list  # of the student's function
    for_formula: list
    names: list  # of what it returns
    expected: list
    backward: bool

    @property
    def function(self) -> str:
        return self.part.backward if self.backward else self.part.forward


def calls_of(rung: Rung) -> list:
    """Each function on sizes that differ and on equal ones, in the order in which mistakes are reported."""
    calls = []
    for part in rung.parts:
        for backward in (False, True) if part.backward else (False,):
            for square in (False, True):
                args = inputs(part, square)
                result = of_engine(part, args)[0]
                upstream = np.random.default_rng(8).normal(size=result.shape) if result.ndim else 1.5
                names = ["d" + name for name in part.wrt.split()] if backward else [part.result]
                expected = of_engine(part, args, upstream) if backward else [result]
                given = [upstream, *args] if backward else args
                calls.append(Call(part, square, given, [*args, upstream], names, expected, backward))
    return calls


def files_of(folder: Path, rung: Rung) -> dict:
    """The rung's file and those of the rungs below it; Refused for a file of its own that is not one."""
    files = {f"{rung.module}.py": sandbox.taken_in(folder / f"{rung.module}.py")}
    for other in RUNGS[:rung.number - 1]:
        try:
            files[f"{other.module}.py"] = sandbox.taken_in(folder / f"{other.module}.py")
        except Refused:
            pass  # who imports it is refused
    return files


def request_of(rung: Rung, calls: list) -> dict:
    return {"modules": [rung.module], "calls": [
        {"module": rung.module, "function": function, "args": [encoded(each) for each in args]} for function, args in calls]}


def check(rung: Rung, folder: Path, with_quotient: bool = True) -> Verdict:
    calls = calls_of(rung)
    try:
        files = files_of(folder, rung)
        answers = sandbox.run(files, request_of(rung, [(call.function, call.args) for call in calls]))
        if len(answers) == 1 and "error" in answers[0]:
            return error_in(answers[0]["error"], rung, "")
    except Refused as refused:
        return Verdict(refused.kind, "", refused.facts)
    verdicts = (judge(rung, call, answers[i], calls[i + 1:i + 2], answers[i + 1:i + 2]) for i, call in enumerate(calls))
    verdict = next((found for found in verdicts if found.kind), Verdict(""))
    if with_quotient and verdict.element.get("of_gradient"):
        verdict.element["quotient"] = quotient(rung, files, verdict.element)
    return verdict


def error_in(error: dict, rung: Rung, function: str) -> Verdict:
    kinds = {"SyntaxError": "syntax", "IndentationError": "syntax", "TabError": "syntax", "ModuleNotFoundError": "import",
             "MemoryError": "memory", "Stopped": "no_end", "SystemExit": "exits", "RecursionError": "recursion"}
    kind = kinds.get(error["type"], "raises")
    if error["type"] == "OSError" and "File too large" in error["text"]:
        kind = "output"
    if error["file"] not in ("", f"{rung.module}.py"):
        kind = "raises_below"
    return Verdict(kind, function, {**error, "line": error["line"] or "?"})


def judge(rung: Rung, call: Call, answer: dict, square: list, of_square: list) -> Verdict:
    """Of an error on sizes that differ, what the same function answers on equal ones, the next call, says more."""
    if "missing" in answer:
        return Verdict("missing", call.function)
    if "error" in answer:
        error = error_in(answer["error"], rung, call.function)
        if error.kind == "raises" and not call.square and "value" in of_square[0]:
            verdict = judge(rung, square[0], of_square[0], [], [])
            return verdict if verdict.is_slip else Verdict("only_square", call.function, error.facts)
        return error
    if answer["changed"]:
        return Verdict("input_changed", call.function)
    got = answer["value"]
    if len(call.names) == 1 and not (isinstance(got, list) and len(got) == 1):
        got = [got]
    if not isinstance(got, list):
        odd = got.get("odd", "dict") if isinstance(got, dict) else ""
        return Verdict(kind_of_odd(odd) if odd else "count", call.function,
                       {"count": 1, "what": odd, "names": ", ".join(call.names)})
    if len(got) != len(call.names):
        return Verdict("count", call.function, {"count": len(got), "names": ", ".join(call.names)})
    return compare(call, got)


def compare(call: Call, got: list) -> Verdict:
    expected = leaves(dict(zip(call.names, call.expected)))
    found = leaves({name: as_array(each, right) for name, each, right in zip(call.names, got, call.expected)})
    odd = {name: each for name, each in found.items() if name.endswith("odd")}
    if odd:
        name, what = next(iter(odd.items()))
        return Verdict(kind_of_odd(what), call.function, {"what": what, "name": name.removesuffix(".odd")})
    if found.keys() != expected.keys():
        missing, extra = expected.keys() - found.keys(), found.keys() - expected.keys()
        return Verdict("keys", call.function, {"missing": listed(missing), "extra": listed(extra)})
    found = {name: np.asarray(each, dtype=float) for name, each in found.items()}
    wrong = [name for name in expected if not close(found[name], expected[name])]
    if not wrong:
        return Verdict("")
    first = wrong[0]
    facts = {"name": shown(first)}
    slip = slip_of(call, found, expected, wrong)
    if slip:
        kind, _, facts["term"] = slip.partition(" ")
        return Verdict(kind, call.function, facts, element_of(call, first, found[first], expected[first]), is_slip=True)
    kind, more = of_any_rung(call, first, found, expected)
    return Verdict(kind, call.function, facts | more, element_of(call, first, found[first], expected[first]))


def as_array(got, right):
    """Rows in a list are as good as an array, where one is expected."""
    try:
        return np.array(got, float) if isinstance(got, list) and isinstance(right, np.ndarray) else got
    except (ValueError, TypeError):
        return {"odd": "list"}


def close(a, b) -> bool:
    return a.shape == np.shape(b) and bool(np.all(np.isfinite(b)) and not np.any(far(a, b)))


def far(a, b):
    """Where a is not b; a NaN is not."""
    return ~(np.abs(a - b) <= TOLERANCE * max(1e-3, np.abs(b).max(initial=0)))


def kind_of_odd(what: str) -> str:
    return {"...": "unwritten", "NoneType": "nothing"}.get(what, "odd")


def listed(names) -> str:
    return ", ".join(map(shown, sorted(names))) or "–"


def slip_of(call: Call, found: dict, expected: dict, wrong: list) -> str:
    """The mistake that gives all that was found; if there is none, that which gives the first wrong array of it."""
    result, likely = formulas.with_slip("", call.part.formula, call.for_formula)[call.part.result], []
    for name in formulas.slips_of(call.part.formula, call.for_formula):
        computed = formulas.with_slip(name, call.part.formula, call.for_formula)
        if computed is None:
            continue
        slipped = leaves({each: computed[each] for each in call.names})
        if slipped.keys() == found.keys() and close(found[wrong[0]], slipped[wrong[0]]):
            is_all = all(close(found[each], slipped[each]) for each in found)
            # When backward is judged, forward was right.
            likely.append((not is_all, call.backward and not close(computed[call.part.result], result), name))
    return min(likely, key=lambda each: each[:2])[2] if likely else ""


def of_any_rung(call: Call, name: str, found: dict, expected: dict) -> tuple:
    """Mistakes that any array can have."""
    got, right = found[name], np.asarray(expected[name])
    others, is_square = [each for each in expected if each != name], got.ndim == 2 and got.shape[0] == got.shape[1]
    if got.shape != right.shape:
        if got.shape == right.shape[::-1] and close(got.T, right):
            return "transposed_result", {}
        return "shape", {"got": list(got.shape), "expected": list(right.shape)}
    if not np.all(np.isfinite(got)):
        return ("overflow" if call.square and np.abs(call.args[-1]).max() > 500 else "nan"), {}
    if not np.any(got):
        return "zero", {}
    for other in others:
        if close(got, expected[other]):
            return "other_output", {"other": shown(other)}
    where = np.abs(right) > 1e-6 * np.abs(right).max()
    ratio = float(np.median(got[where] / right[where]))
    if close(got, ratio * right):
        return ("sign", {}) if math.isclose(ratio, -1) else ("factor", {"factor": factor_name(ratio, call, right)})
    if is_square and close(got.T, right):
        return "transposed_result", {}
    if np.abs(got - right).max() < 1e-3 * np.abs(right).max():
        return "inexact", {"difference": f"{np.abs(got - right).max():.1e}"}
    wrong = far(got, right)
    if is_square and not np.any(np.tril(wrong)):
        return "above_diagonal", {}
    return "unknown", {}


def factor_name(ratio: float, call: Call, right) -> str:
    """The ratio in the sizes that it may come from: 1/√6 where an array is 6 wide."""
    sizes = sorted({size for each in [*leaves(call.args).values(), right] for size in np.shape(each) if size > 1})
    for text, value in [("2", 2.0), *[(str(n), float(n)) for n in sizes], *[(f"√{n}", math.sqrt(n)) for n in sizes]]:
        if math.isclose(ratio, value, rel_tol=1e-6):
            return text
        if math.isclose(ratio, 1 / value, rel_tol=1e-6):
            return f"1/{text}"
    return f"{ratio:.4g}"


def element_of(call: Call, name: str, got, right) -> dict:
    """The first number that is wrong, as the report shows it."""
    right = np.asarray(right)
    if got.shape != right.shape:
        return {}
    wrong = far(got, right)
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    by_hand = call.part.by_hand.get(name, "")
    if by_hand:
        by_hand = in_numbers(by_hand, formulas.with_slip("", call.part.formula, call.for_formula), at)
    return {"name": shown(name) + (str(list(at)) if at else ""), "count": int(wrong.sum()), "size": right.size,
            "got": float(got[at]), "expected": float(right[at]), "by_hand": by_hand, "of_gradient": call.backward,
            "leaf": name, "at": at, "call": call}


def dot(a, b) -> str:
    """0.1·2 + 0.3·4 + … = 1.4"""
    terms = [f"{x:.3g}·{f'({y:.3g})' if y < 0 else f'{y:.3g}'}" for x, y in zip(a, b)]
    return " + ".join(terms[:3] + ["…"] * (len(terms) > 3)) + f" = {np.dot(a, b):.6g}"


def plus(numbers) -> str:
    return " + ".join(f"{x:.3g}" for x in numbers) + f" = {np.sum(numbers):.6g}"


def in_numbers(text: str, computed: dict, at: tuple) -> str:
    """The formula with its letters, and with what they are at this place."""
    names = computed | {"np": np, "dot": dot, "plus": plus} | dict(zip("ij", (*at, 0, 0)))
    filled = eval("f" + repr(text), names)  # texts of rungs.py
    for letter in "ij":
        filled = re.sub(rf"(?<=[\[,]){letter}(?=[\],])", str(names[letter]), filled)
    return filled


def quotient(rung: Rung, files: dict, element: dict) -> str:
    """(L(x + h) − L(x − h)) / 2h of the student's own forward, where L is the sum of dY ∘ Y and x the number itself."""
    call, h, results = element["call"], 1e-5, []
    argument, *path = element["leaf"].removeprefix("d").split(".")
    position, requests = call.part.args.split().index(argument), []
    for step in (h, -h):
        args = inputs(call.part, call.square)
        array = args[position]
        for key in path:
            array = array[int(key) if isinstance(array, list) else key]
        array[element["at"]] += step
        requests.append((call.part.forward, args))
    try:
        for answer in sandbox.run(files, request_of(rung, requests)):
            results.append(float(np.sum(call.args[0] * answer["value"])))
        return f"{(results[0] - results[1]) / (2 * h):.8g}"
    except (Refused, KeyError, TypeError, ValueError, IndexError):
        return ""


def shown(name: str) -> str:
    """dw.blocks.0.Wq as Python writes it: dw["blocks"][0]["Wq"]."""
    first, *path = name.split(".")
    return first + "".join(f"[{key}]" if key.isdigit() else f'["{key}"]' for key in path)
