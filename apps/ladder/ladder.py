"""./qkv ladder: twelve files that a student completes, and what is right in them."""

import argparse
import collections
import json
import os
import random
import re
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sandbox
import training
from check import Verdict, check
from rungs import RUNGS, Rung

HERE = Path(__file__).parent
WIDTH = 80
LATER = 3  # the try from which on a hint is shown


class Texts:
    def __init__(self, language: str):
        self.language = language
        self.tables = tomllib.loads((HERE / "texts.toml").read_text(encoding="utf-8"))

    def __call__(self, table: str, name: str, /, **facts) -> str:
        english, chinese = self.tables[table][name]
        return (chinese if self.language == "zh" else english).format(**facts)

    def of_rung(self, rung: Rung, what: str) -> str:
        return self.tables["rung"][rung.name][f"{what}_{self.language}"].strip("\n")

    def skeleton(self, rung: Rung) -> str:
        code = self.tables["rung"][rung.name]["code"].strip("\n").replace("\n\ndef", "\n\n\ndef")
        return f'"""{self.of_rung(rung, "task")}\n"""\n{code}\n'


def wide(text: str) -> int:
    """The columns that it takes on a terminal: a Chinese character takes two."""
    return sum(2 if ord(c) > 0x2E7F else 1 for c in text)


def padded(text: str, width: int) -> str:
    return text + " " * (width - wide(text))


def print_block(label: str, text: str) -> None:
    """A label and a text that is folded at 80 columns beside it."""
    indent = " " * 14
    room = WIDTH - len(indent)
    words, lines = re.findall(r"[\u2E80-\uFFFF]|[^\s\u2E80-\uFFFF]+|\s+", text), [""]
    for word in words:
        if wide(lines[-1] + word) > room and lines[-1].strip():
            lines.append("")
        lines[-1] += word.lstrip() if not lines[-1] else word
    for number, line in enumerate(lines):
        print((padded(f"  {label}", 14) if number == 0 else indent) + line.rstrip())


def print_cut(text: str) -> None:
    while wide(text) > WIDTH:
        text = text[:-2] + "…"
    print(text)


def fail(message: str, status: int = 2) -> None:
    print(f"error: {message}", file=sys.stderr)
    raise SystemExit(status)


# A folder has a memory: tries, losses, samples.


def memory_of(folder: Path) -> dict:
    try:
        memory = json.loads(sandbox.taken_in(folder / ".ladder.json"))
        return {str(name): dict(each) for name, each in memory.items()}
    except (sandbox.Refused, ValueError, AttributeError, TypeError, RecursionError):
        return {}


def remember(folder: Path, rung: Rung, **facts) -> dict:
    memory = memory_of(folder)
    memory[str(rung.number)] = memory.get(str(rung.number), {}) | facts
    beside = folder / ".ladder.json.new"
    beside.write_text(json.dumps(memory), encoding="utf-8")
    os.replace(beside, folder / ".ladder.json")
    return memory


# The commands.


def begin(folder: Path, say: Texts) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for rung in RUNGS:
        path = folder / f"{rung.module}.py"
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(say.skeleton(rung))
            print(say("say", "wrote", file=path))
        except FileExistsError:
            print(say("say", "kept", file=path))
    print(say("say", "begun"))
    return 0


def show(folder: Path, say: Texts) -> int:
    memory = memory_of(folder)
    print(say("say", "ladder"))
    width = max(wide(say.of_rung(rung, "title")) for rung in RUNGS) + 2
    for rung in RUNGS:
        of_rung = memory.get(str(rung.number), {})
        loss, tries = of_rung.get("loss"), of_rung.get("tries", 0)
        state = say("say", "loss", loss=f"{float(loss):.4f}") if loss else say("say", "tries", count=tries) if tries else ""
        print(f"{rung.number:4}  {padded(say.of_rung(rung, 'title'), width)}{state}".rstrip())
        if of_rung.get("sample"):
            print(f"      {ascii_of(str(of_rung['sample']))[:WIDTH - 6]}")
    print(say("say", "how"))
    return 0


def ascii_of(text: str) -> str:
    """A sample on one line: ↵ for a line's end, → for a tabulator."""
    return "".join({"\n": "↵", "\t": "→"}.get(c, c if c.isprintable() else "?") for c in text)


def sentence(say: Texts, verdict: Verdict) -> str:
    facts = {name: printable(str(each)) for name, each in verdict.facts.items()}
    return say("mistake", verdict.kind, **facts)


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def report(say: Texts, rung: Rung, verdict: Verdict, tries: int) -> None:
    place = f"{verdict.function}: " if verdict.function else ""
    print_block(say("say", "not_yet"), place + sentence(say, verdict))
    element = verdict.element
    if element:
        print_block("", say("say", "wrong", **{name: element[name] for name in ("count", "size", "name")}))
        print_block(say("say", "got"), f"{element['got']:.8g}")
        print_block(say("say", "expected"), f"{element['expected']:.8g}")
        if element.get("quotient"):
            print_block(say("say", "quotient"), element["quotient"] + say("say", "quotient_of"))
        if element["by_hand"]:
            print_block(say("say", "by_hand"), element["by_hand"])
    if tries >= LATER:
        print_block(say("say", "hint"), say.of_rung(rung, "hint"))
    print_block(say("say", "try"), str(tries))


def climb(rung: Rung, folder: Path, say: Texts) -> int:
    path = folder / f"{rung.module}.py"
    print(f"{rung.number}  {say.of_rung(rung, 'title')}: {path}")
    verdict = check(rung, folder)
    memory = memory_of(folder)
    if verdict.kind:
        before = memory.get(str(rung.number), {}).get("tries", 0)
        tries = 1 + (before if isinstance(before, int) else 0)
        report(say, rung, verdict, tries)
        for number in rung.uses:
            below = check(RUNGS[number - 1], folder, with_quotient=False)
            if below.kind:
                print_block("", say("say", "below", rung=number, sentence=sentence(say, below)))
        remember(folder, rung, tries=tries)
        return 1
    print_block(say("say", "right"), say("say", "all_right"))
    if not sandbox.without_network():
        print_block("", say("say", "network"))
    try:
        trained = training.climb(rung, folder)
    except sandbox.Refused as refused:
        print_block(say("say", "training"), sentence(say, Verdict(refused.kind, "", refused.facts)))
        return 1
    print_block(say("say", "training"), say("say", "trained", seconds=f"{trained['seconds']:.1f}"))
    before = memory.get(str(rung.number - 1), {}).get("loss")
    lower = say("say", "before", rung=rung.number - 1, loss=f"{before:.4f}") if isinstance(before, float) else ""
    print_block(say("say", "loss_label"), f"{trained['loss']:.4f}{lower}")
    print_block(say("say", "writes"), ascii_of(trained["sample"]))
    if rung.number == len(RUNGS):
        of_engine = training.of_engine()
        apart = 100 * abs(trained["loss"] - of_engine) / of_engine
        print_block("./qkv train", say("say", "engine", loss=f"{of_engine:.4f}", apart=f"{apart:.2f}"))
    remember(folder, rung, loss=trained["loss"], sample=trained["sample"])
    return 0


# A mistake for the neighbour to find: one that somebody makes who types.

PLANTED = [(r"\.T\b", ""), (r"(?<=\w) \+ (?=\w)", " - "), (r"(?<=\w) - (?=\w)", " + "), (r" \* ", " + "), (r" / ", " * "),
           (r"axis=1", "axis=0"), (r"\.sum\(", ".mean("), (r"\.mean\(", ".sum("), (r"np\.sqrt\(", "("), (r", 1\)", ", 0)"),
           (r"np\.tril\(", "np.triu("), (r"\[:T\]", "[-T:]"), (r" \+= ", " = "), (r"dS\.T @", "dS @"), (r"-np\.", "np."),
           (r"np\.maximum\(", "np.minimum("), (r" > 0", " < 0"), (r" - row_sum", ""),
           (r"(?<![\w.])(\w+) @ (\w+)(?![\w.(\[])", r"\2 @ \1")]


def all_planted(text: str) -> list:
    """The file with each of the mistakes at each place where it can stand."""
    start = text.index("def ")
    return [text[:found.start()] + found.expand(new) + text[found.end():]
            for old, new in PLANTED for found in re.compile(old).finditer(text, start)]


def plant(rung: Rung, folder: Path, say: Texts) -> int:
    if check(rung, folder, with_quotient=False).kind:
        fail(say("say", "plant_right", rung=rung.number))
    path = folder / f"{rung.module}.py"
    text = sandbox.taken_in(path).decode()
    planted = all_planted(text)
    random.shuffle(planted)
    kept = folder / "right" / path.name
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(text, encoding="utf-8")
    for wrong in planted:
        path.write_text(wrong, encoding="utf-8")
        verdict = check(rung, folder, with_quotient=False)
        if verdict.kind and verdict.element:
            print(say("say", "planted", file=path, kept=kept, rung=rung.number))
            return 0
    path.write_text(text, encoding="utf-8")
    fail(say("say", "no_plant", file=path), 1)


# A class.


def of_class(folder: Path, say: Texts) -> int:
    students = sorted(each for each in folder.iterdir() if each.is_dir() and not each.is_symlink() and each.name[0] != ".")
    if not students:
        fail(say("say", "no_students", folder=folder))
    skeletons = {Texts(language).skeleton(rung).encode() for language in ("en", "zh") for rung in RUNGS}

    def verdict_on(student_and_rung):
        student, rung = student_and_rung
        try:
            if sandbox.taken_in(student / f"{rung.module}.py") in skeletons:
                return Verdict("unwritten")
            return check(rung, student, with_quotient=False)
        except sandbox.Refused as refused:
            return Verdict(refused.kind, "", refused.facts)
        except Exception as error:  # the rest of the class is checked all the same
            return Verdict("check_failed", "", {"why": repr(error)})

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(student, rung) for student in students for rung in RUNGS]
        verdicts = dict(zip(jobs, pool.map(verdict_on, jobs)))
    counted = collections.Counter()
    width = max(wide(printable(each.name)) for each in students) + 2
    print(padded(say("say", "student"), width) + " ".join(f"{rung.number:2}" for rung in RUNGS) + "  " + say("say", "legend"))
    for student in students:
        of_student = {rung.number: verdicts[student, rung] for rung in RUNGS}
        begun = {number: each for number, each in of_student.items() if each.kind not in ("no_file", "unwritten")}
        marks = [("✓" if not each.kind else "✗") if number in begun else "·" for number, each in of_student.items()]
        print(padded(printable(student.name), width) + " ".join(f"{mark:>2}" for mark in marks))
        for number, each in begun.items():
            below = [other for other in RUNGS[number - 1].uses if of_student[other].kind]
            if below and (each.element or each.kind.startswith("raises")):
                print_cut(f"  {number:2}  {say('say', 'first', rung=below[0])}")
            elif each.kind:
                print_cut(f"  {number:2}  {each.function} {sentence(say, each)}")
                counted[sentence(say, each)] += 1
    print(("" if sandbox.without_network() else "\n" + say("say", "network")) + "\n" + say("say", "commonest"))
    for text, count in counted.most_common(10):
        print_cut(f"{count:4}  {text}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="./qkv ladder", add_help=False, allow_abbrev=False)
    parser.error = fail
    parser.add_argument("rung", nargs="?")
    parser.add_argument("--folder", type=Path, default=Path("ladder"))
    parser.add_argument("--begin", action="store_true")
    parser.add_argument("--plant", action="store_true")
    parser.add_argument("--class", dest="students", type=Path)
    parser.add_argument("--lang", choices=("en", "zh"), default="en")
    given = parser.parse_args()
    say = Texts(given.lang)
    numbers = [str(rung.number) for rung in RUNGS]
    if given.rung not in (None, *numbers):
        fail(say("say", "no_rung", rung=given.rung))
    if given.students:
        if not given.students.is_dir():
            fail(say("say", "no_folder", folder=given.students))
        return of_class(given.students, say)
    if given.begin:
        return begin(given.folder, say)
    if given.rung is None:
        if given.plant:
            fail(say("say", "plant_which"))
        return show(given.folder, say)
    if not given.folder.is_dir():
        fail(say("say", "not_begun", folder=given.folder))
    return (plant if given.plant else climb)(RUNGS[int(given.rung) - 1], given.folder, say)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:  # a folder that cannot be written to
        fail(f"{error.filename}: {error.strerror}", 1)
