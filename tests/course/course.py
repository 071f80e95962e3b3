"""What docs/course.md and docs/course.zh.md say: lessons, their blocks of code, minutes, questions, addresses.

In a block of code a line that begins with "$ " is a command; those after it are promised: it prints them, in this
order. "…" stands for anything: within a line for a part of it, alone for any lines. A block of ```diff names a file
of the sources, and changes one line of it.
"""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHINESE_LABS = " --lang zh"


@dataclass
class Command:
    line: str
    promised: list = field(default_factory=list)

    def words(self) -> list:
        return shlex.split(self.line, comments=True)

    def fails(self) -> bool:
        return any(re.match(r"FAIL|error: ", each) for each in self.promised)

    def promise(self) -> re.Pattern:
        return re.compile("".join(pattern_of(line) for line in self.promised) or "", re.M)


def pattern_of(line: str) -> str:
    """Of a promised line. Blanks count as much or as little as they do in a table."""
    if line.strip() == "…":
        return r"(?:.*\n)*?"
    parts = [r"\s+".join(re.escape(word) for word in re.split(r"\s+", part)) for part in line.strip().split("…")]
    return r"^[ \t]*" + ".*".join(parts).replace(r"\s+", r"[ \t]+") + r"[ \t]*\n"


@dataclass
class Change:
    """One line of a source, and the mistake in its place."""

    file: str
    old: str
    new: str


@dataclass
class Lesson:
    number: int
    text: str
    steps: list  # commands and changes, in their order

    def commands(self, verb: str = "") -> list:
        found = [each for each in self.steps if isinstance(each, Command)]
        return [each for each in found if not verb or each.words()[:2] == ["./qkv", verb]]

    def minutes(self) -> list:
        """Of the parts."""
        return [int(each) for each in re.findall(r"^### .*[(（](\d+) (?:minutes|分钟)[)）]$", self.text, re.M)]

    def questions(self) -> int:
        return len(re.findall(r"^\d+\. ", self.text, re.M))

    def addresses(self) -> list:
        """[(page, address)] of its links into pages."""
        return re.findall(r"\]\(([\w-]+\.html)(#[^)]*)\)", self.text)


def steps_of(text: str) -> list:
    steps = []
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        if kind == "diff":
            file, old, new = re.fullmatch(r"--- (\S+)\n-(.*)\n\+(.*)\n", block).groups()
            steps.append(Change(file, old, new))
            continue
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append(Command(line[2:]))
            else:
                steps[-1].promised.append(line)
    return steps


def lessons_of(name: str) -> list:
    """Of a file of docs/."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    parts = re.split(r"^## (?:Lesson (\d+)\.|第 (\d+) 课) ", text, flags=re.M)
    lessons = []
    for english, chinese, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        body = re.split(r"^## ", body, flags=re.M)[0]
        lessons.append(Lesson(int(english or chinese), body, steps_of(body)))
    return lessons
