"""What docs/course.md and docs/course.zh.md say: lessons, their blocks of code, minutes, questions, addresses."""

import re
from dataclasses import dataclass

from commands import ROOT, Command, steps_of

CHINESE_LABS = " --lang zh"


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


def lessons_of(name: str) -> list:
    """Of a file of docs/."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    parts = re.split(r"^## (?:Lesson (\d+)\.|第 (\d+) 课) ", text, flags=re.M)
    lessons = []
    for english, chinese, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        body = re.split(r"^## ", body, flags=re.M)[0]
        lessons.append(Lesson(int(english or chinese), body, steps_of(body)))
    return lessons
