"""The lessons of docs/course.md, as a teacher gives them.

  course_test.py N        every command of lesson N, with what the text promises of it
  course_test.py texts    the two languages have the same lessons, and the same walk of docs/teaching.md
"""

import re
import sys

from classroom import complaints_about
from commands import ROOT, Change
from course import CHINESE_LABS, lessons_of

LESSONS = 8
MINUTES = 45
complaints = []


def expect(holds: bool, complaint: str) -> None:
    if not holds:
        complaints.append(complaint)


def run_lesson(number: int) -> None:
    lesson = lessons_of("course.md")[number - 1]
    for verb in ("explain", "lab", "gradcheck", "train"):
        expect(lesson.commands(verb), f"lesson {number} has no {verb}")
    expect(any(each.fails() for each in lesson.commands("gradcheck")), f"lesson {number}: no gradient check fails")
    complaints.extend(complaints_about(lesson.steps))


def shape_of(step, language: str) -> list:
    """What must be the same in both languages; what the commands print stands in English only."""
    if isinstance(step, Change):
        return [step.file, step.old, step.new]
    expect(language == "en" or not step.promised, f"the Chinese course: {step.line} shows what it prints")
    is_lab = step.words()[:2] == ["./qkv", "lab"]
    if is_lab and language == "zh":
        expect(CHINESE_LABS in step.line, f"the Chinese course: {step.line} has no{CHINESE_LABS}")
    return [re.sub(r"\s+#.*", "", step.line.replace(CHINESE_LABS, ""))]


def compare_texts() -> None:
    english, chinese = lessons_of("course.md"), lessons_of("course.zh.md")
    for lessons, language in ((english, "en"), (chinese, "zh")):
        expect([each.number for each in lessons] == list(range(1, LESSONS + 1)), f"{language}: not lessons 1 to {LESSONS}")
        for lesson in lessons:
            expect(sum(lesson.minutes()) == MINUTES, f"{language}, lesson {lesson.number}: {lesson.minutes()} minutes")
            expect(lesson.questions() > 0, f"{language}, lesson {lesson.number}: no questions")
    for one, other in zip(english, chinese):
        where = f"lesson {one.number}, in English and in Chinese"
        expect(one.minutes() == other.minutes(), f"{where}: {one.minutes()} and {other.minutes()} minutes")
        expect(one.questions() == other.questions(), f"{where}: {one.questions()} and {other.questions()} questions")
        for a, b in zip(one.steps, other.steps):
            expect(shape_of(a, "en") == shape_of(b, "zh"), f"{where}:\n  {a}\n  {b}")
        expect(len(one.steps) == len(other.steps), f"{where}: {len(one.steps)} and {len(other.steps)} commands")
        addresses = [(page, address.replace("&lang=zh", "")) for page, address in other.addresses()]
        expect(one.addresses() == addresses, f"{where}: addresses {one.addresses()} and {addresses}")


def compare_walks() -> None:
    """docs/teaching.md and its Chinese: the same addresses, and the same numbers about each."""
    english, chinese = [(ROOT / "docs" / name).read_text(encoding="utf-8").replace("&lang=zh", "")
                        for name in ("teaching.md", "teaching.zh.md")]
    for what in (r"\[(#[^\]]+)\]\(lesson\.html\1\)", r"−?-?\d+\.\d+"):
        in_english, in_chinese = (re.findall(what, text) for text in (english, chinese))
        expect(in_english == in_chinese, f"the walk in English and in Chinese:\n  {in_english}\n  {in_chinese}")


def main(argument: str) -> int:
    try:
        if argument == "texts":
            compare_texts()
            compare_walks()
        else:
            run_lesson(int(argument))
    except RuntimeError as error:
        complaints.append(str(error))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
