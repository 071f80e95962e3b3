"""The commands of a page of docs/, and what it promises of them.

In a block of code a line that begins with "$ " is a command; those after it are promised: it prints them, in this
order. "…" stands for anything: within a line for a part of it, folded or not, alone for any lines. What the clock or the
processor decides is compared as MEASURED and ROUNDED say; the page says that it does. A block of ```diff
names a file, and changes one line of it. A block after a line that ends in `FILE`: is that file.
"""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What the clock and the machine decide, in words that stand for themselves.
MEASURED = [r"[\d.]+(?= tokens/s)", r"\d+(?= s left)", r"(?<= in )[\d.]+(?= s\b)", r"\d+(?= threads)",
            r"[\d.]+(?= [GM]iB are free)"]

# What the processor decides, whose sums have another order: numbers of a verb's lines, and how near another processor
# comes. What training makes of rounding is known to a tenth; a rounding error to its size, so that a count of digits is
# known to one. An answer of a model that is half trained has other letters.
NEAR = 0.1
ROUNDED = {
    "train": [(r"(?:loss|loss is|norm) (\d+\.\d+)(?![\d…])", lambda a, b: abs(a - b) <= NEAR * a),
              (r"answered (\d+)(?=  wrong)", None)],
    "gradcheck": [(r"^(?:op|layer|model|step) .* (\d+)(?= PASS$)", lambda a, b: abs(a - b) <= 1),
                  (r"^(?:op|layer|model|step) .* (\S+) +(\S+)(?=  (?:yes|undecided)$)", lambda a, b: a <= 2 * b <= 4 * a)],
}
ROUNDED["eval"] = ROUNDED["train"]
NUMBER = "\0"  # stands for one of them in a line


@dataclass
class Command:
    line: str
    promised: list = field(default_factory=list)

    def words(self) -> list:
        return shlex.split(self.line, comments=True)

    def fails(self) -> bool:
        return any(re.match(r"FAIL|error: ", each) for each in self.promised)

    def promise(self) -> re.Pattern:
        return re.compile("".join(pattern_of(self.loosened(line)[0]) for line in self.promised) or "", re.M)

    def is_kept(self, printed: str) -> bool:
        found = self.promise().search(printed)
        numbers = [each for line in self.promised for each in self.loosened(line)[1]]
        return bool(found) and all(near(promised, float(number))
                                   for (promised, near), number in zip(numbers, found.groups(), strict=True))

    def loosened(self, line: str) -> tuple:
        """The line without what the processor decides, and its numbers, each with what is near it."""
        numbers = {}
        for pattern, near in ROUNDED.get(self.line.split()[1] if " " in self.line else "", []):
            for found in re.finditer(pattern, line):
                for group in range(1, len(found.groups()) + 1):
                    numbers[found.span(group)] = near and (float(found.group(group)), near)
        for (start, end), number in sorted(numbers.items(), reverse=True):
            line = line[:start] + (NUMBER if number else "…") + line[end:]
        return line, [number for _, number in sorted(numbers.items()) if number]


def pattern_of(line: str) -> str:
    """Of a promised line. Blanks count as much or as little as they do in a table, or where a wide line is folded."""
    if line.strip() == "…":
        return r"(?:.*\n)*?"
    for measured in MEASURED:
        line = re.sub(measured, "…", line)
    parts = [r"\s+".join(re.escape(word) for word in re.split(r"\s+", part)) for part in line.strip().split("…")]
    parts = [part.replace(re.escape(NUMBER), r"([-+.\de]+)") for part in parts]
    return r"^[ \t]*" + r"(?:.|\n {2,})*?".join(parts).replace(r"\s+", r"(?:[ \t]+|\n {2,})") + r"[ \t]*\n"


@dataclass
class File:
    """A file that the reader writes."""

    name: str
    text: str


@dataclass
class Change:
    """One line of a file, and the one in its place."""

    file: str
    old: str
    new: str


def steps_of(text: str) -> list:
    steps = []
    for name, kind, block in re.findall(r"(?:`([^`\n]+)`:\n\n)?^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        if name:
            steps.append(File(name, block))
            continue
        if kind == "diff":
            file, old, new = re.fullmatch(r"--- (\S+)\n-(.*)\n\+(.*)\n", block).groups()
            steps.append(Change(file, old, new))
            continue
        command = None
        for line in block.splitlines():
            if line.startswith("$ "):
                command = Command(line[2:])
                steps.append(command)
            elif command:
                command.promised.append(line)
    for step in steps:
        while isinstance(step, Command) and step.promised and not step.promised[-1].strip():
            step.promised.pop()  # before the next command
    return steps
