"""The counts that the pages state are those of the tree."""

import re
import sys

from commands import ROOT
from course import lessons_of

WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def judged_sentences() -> int:
    return len(re.findall(r"^\w[\w-]*\.en = ", text_of("apps/labs/kit/claims.toml"), re.M))


def sliders() -> int:
    [body] = re.findall(r"allSliders = \{(.*?)\}", text_of("apps/report/page/sliders.js"), re.S)
    return len(re.findall(r"^  \w+:", body, re.M))


def places_of_an_op() -> int:
    return len(re.findall(r"^## \d+\. ", text_of("docs/adding-an-op.md"), re.M))


def lessons() -> int:
    return len(lessons_of("course.md"))


# Where a count stands, as the word in the brackets, and what it has to be.
STATED = [
    ("README.md", r"more than (\w+)ty claims", lambda: judged_sentences() // 10),
    ("docs/teaching.md", r"(\w+) sections have a slider", sliders),
    ("docs/teaching.md", r"a course of (\w+) lessons", lessons),
    ("README.md", r"a course of (\w+) lessons", lessons),
    ("docs/course.md", r"(\w+) lessons", lessons),
    ("docs/adding-an-op.md", r"It touches (\w+) places", places_of_an_op),
    ("docs/library.md", r"which touches (\w+) places", places_of_an_op),
]


def main() -> int:
    complaints = []
    for page, pattern, truth in STATED:
        found = re.search(pattern, text_of(page), re.I)
        if not found:
            complaints.append(f"{page} does not say {pattern!r} any more")
        elif found.group(1).lower() != WORDS[truth()]:
            complaints.append(f"{page}: {found.group(0)!r}, and not {WORDS[truth()]}")
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
