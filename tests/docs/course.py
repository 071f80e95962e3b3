"""What docs/course.md and docs/course.zh.md say: lessons, their blocks of code, minutes, numbers, addresses; the test."""

import math
import re
from dataclasses import dataclass

from commands import ROOT, Command, steps_of

CHINESE = " --lang zh"
PARTS = {"en": ["**Goal.**", "**Needed.**", "### The bet", "### The page", "### The lab", "### The rung", "**At home.**"],
         "zh": ["**目标。**", "**需要。**", "### 打赌", "### 页面", "### 实验", "### 阶梯", "**回家想。**"]}
# e^2, √4, 0.9^63, 4 × 3^2 × 4 + (…): what stands before an equals sign.
TERM = r"(?:(?:e\^|√)?\d+(?:\.\d+)?(?:\^\d+)?|[-−+×/()])"
EQUATION = re.compile(rf"({TERM}(?: ?{TERM})*) = (−?\d+(?:\.\d+)?)")


def half_unit(number: str) -> float:
    """Of its last digit; a number without a point is exact."""
    return 0.5 * 10.0 ** -len(number.partition(".")[2]) if "." in number else 0.0


def value_of(expression: str) -> float:
    for sign, python in (("−", "-"), ("×", "*"), ("e^", "math.e^"), ("^", "**")):
        expression = expression.replace(sign, python)
    return eval(re.sub(r"√(\d+)", r"math.sqrt(\1)", expression), {"math": math})


def is_right(expression: str, result: str) -> bool:
    """As far as the digits of its numbers tell."""
    value, allowed = value_of(expression), half_unit(result) or 1e-9
    for number in re.finditer(r"\d+\.\d+", expression):
        begin, end = number.span()
        moved = f"({number[0]} + {half_unit(number[0]):f})"
        allowed += abs(value_of(expression[:begin] + moved + expression[end:]) - value)
    return abs(value - float(result.replace("−", "-"))) <= allowed * 1.001


@dataclass
class Lesson:
    number: int
    text: str
    steps: list  # commands, in their order

    def commands(self, verb: str = "") -> list:
        return [each for each in self.steps if not verb or each.words()[:2] == ["./qkv", verb]]

    def minutes(self) -> list:
        """Of the parts."""
        return [int(each) for each in re.findall(r"^### .*[(（](\d+) (?:minutes|分钟)[)）]$", self.text, re.M)]

    def addresses(self) -> list:
        """[(page, address)] of its links into pages."""
        return re.findall(r"\]\(([\w-]+\.html)(#[^)]*)\)", self.text)

    def prose(self) -> str:
        """Without blocks of code and without links."""
        return re.sub(r"\[[^\]]*\]\([^)]*\)", "", re.sub(r"^```.*?^```$", "", self.text, flags=re.M | re.S))

    def equations(self) -> list:
        """[(expression, result)]"""
        return [each for each in EQUATION.findall(self.prose()) if re.search(r"[×/+^√]", each[0])]

    def numbers(self) -> list:
        """With a point, outside equations."""
        return re.findall(r"−?\d+\.\d+", EQUATION.sub(" ", self.prose()))


def text_of(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def lessons_of(name: str) -> list:
    """Of a file of docs/."""
    parts = re.split(r"^## (?:Lesson (\d+)\.|第 (\d+) 课) ", text_of(name), flags=re.M)
    lessons = []
    for english, chinese, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        body = re.split(r"^## ", body, flags=re.M)[0]
        steps = steps_of(body)
        assert all(isinstance(each, Command) for each in steps)
        lessons.append(Lesson(int(english or chinese), body, steps))
    return lessons


def questions_of(name: str) -> tuple:
    """The rows of its test, and the answers by their numbers."""
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", text_of(name), re.M)
    answers = re.findall(r"\b(\d+) ([abc])\b", re.search(r"^(?:Answers: |答案：)(.*)$", text_of(name), re.M)[1])
    return [row.split(" | ") for _, row in rows if row.count(" | ") == 3], {int(n): answer for n, answer in answers}
