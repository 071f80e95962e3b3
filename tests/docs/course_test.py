"""The lessons of docs/course.md, as a teacher gives them, and the stories of docs/stories.md.

  course_test.py N        every command of lesson N, with what the text promises of it; and every number that it states
  course_test.py texts    the two languages have the same lessons, the same test, and the same walk of docs/teaching.md
  course_test.py stories  the stories, step by step, as they are written there
"""

import re
import sys

from classroom import complaints_about, has_ladder
from commands import ROOT, Command, steps_of
from course import CHINESE, PARTS, half_unit, is_right, lessons_of, questions_of

LESSONS, MINUTES, QUESTIONS, STORIES = 10, 40, 20, 3
complaints = []


def expect(holds: bool, complaint: str) -> None:
    if not holds:
        complaints.append(complaint)


def run_lesson(number: int) -> None:
    lesson = lessons_of("course.md")[number - 1]
    for verb in ("explain", "lab", "ladder"):
        expect(bool(lesson.commands(verb)), f"lesson {number} has no {verb}")
    printed = []
    steps = [each for each in lesson.steps if each not in lesson.commands("ladder") or has_ladder()]
    complaints.extend(complaints_about(steps, printed))
    for expression, result in lesson.equations():
        expect(is_right(expression, result), f"lesson {number}: {expression} is not {result}")
    known = [float(each) for each in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", "\n".join(printed))]
    for told in lesson.numbers():
        is_printed = any(abs(each - float(told.replace("−", "-"))) <= half_unit(told) * 1.001 for each in known)
        expect(is_printed, f"lesson {number}: no command prints {told}")


def shape_of(step, language: str) -> str:
    """What must be the same in both languages; what the commands print stands in English only."""
    expect(language == "en" or not step.promised, f"the Chinese course: {step.line} shows what it prints")
    if step.words()[1] in ("lab", "ladder") and language == "zh":
        expect(CHINESE in step.line, f"the Chinese course: {step.line} has no{CHINESE}")
    return step.line.replace(CHINESE, "")


def compare_texts() -> None:
    english, chinese = lessons_of("course.md"), lessons_of("course.zh.md")
    for lessons, language in ((english, "en"), (chinese, "zh")):
        expect([each.number for each in lessons] == list(range(1, LESSONS + 1)), f"{language}: not lessons 1 to {LESSONS}")
        for lesson in lessons:
            where = f"{language}, lesson {lesson.number}"
            expect(sum(lesson.minutes()) == MINUTES, f"{where}: {lesson.minutes()} minutes")
            places = [lesson.text.find(part) for part in PARTS[language]]
            expect(-1 not in places and places == sorted(places), f"{where}: not the parts {PARTS[language]}")
    for one, other in zip(english, chinese):
        for what in ("minutes", "equations", "numbers"):
            a, b = getattr(one, what)(), getattr(other, what)()
            expect(a == b, f"lesson {one.number}, {what} in English and in Chinese:\n  {a}\n  {b}")
        shapes = [[shape_of(step, language) for step in lesson.steps] for lesson, language in ((one, "en"), (other, "zh"))]
        expect(shapes[0] == shapes[1], f"lesson {one.number}, commands in English and in Chinese: {shapes}")
        addresses = [(page, address.replace("&lang=zh", "")) for page, address in other.addresses()]
        expect(one.addresses() == addresses, f"lesson {one.number}: addresses {one.addresses()} and {addresses}")


def compare_tests() -> None:
    answers = [questions_of(name)[1] for name in ("course.md", "course.zh.md")]
    expect(answers[0] == answers[1], f"the answers in English and in Chinese: {answers}")
    expect(list(answers[0]) == list(range(1, QUESTIONS + 1)), f"the answers of the test: {answers[0]}")
    for name in ("course.md", "course.zh.md"):
        rows = questions_of(name)[0]
        expect(len(rows) == QUESTIONS, f"{name}: {len(rows)} questions")
        for row in rows:
            expect(len(set(row)) == 4, f"{name}: two choices are one: {row}")
    for letter in "abc":
        expect(list(answers[0].values()).count(letter) >= QUESTIONS // 4, f"{letter} is seldom right")


def compare_walks() -> None:
    """docs/teaching.md and its Chinese: the same addresses, and the same numbers about each."""
    english, chinese = [(ROOT / "docs" / name).read_text(encoding="utf-8").replace("&lang=zh", "")
                        for name in ("teaching.md", "teaching.zh.md")]
    for what in (r"\[(#[^\]]+)\]\(lesson\.html\1\)", r"−?-?\d+\.\d+"):
        in_english, in_chinese = (re.findall(what, text) for text in (english, chinese))
        expect(in_english == in_chinese, f"the walk in English and in Chinese:\n  {in_english}\n  {in_chinese}")


def run_stories() -> None:
    parts = re.split(r"^## (.*)$", (ROOT / "docs/stories.md").read_text(encoding="utf-8"), flags=re.M)
    expect(len(parts) // 2 == STORIES, f"there are {len(parts) // 2} stories, not {STORIES}")
    for title, story in zip(parts[1::2], parts[2::2]):
        steps = steps_of(story)
        promises = sum(isinstance(each, Command) and bool(each.promised) for each in steps)
        expect(promises >= 2, f"{title}: it promises nothing")
        complaints.extend(f"{title}: {each}" for each in complaints_about(steps))


def main(argument: str) -> int:
    try:
        if argument == "stories":
            run_stories()
        elif argument == "texts":
            compare_texts()
            compare_tests()
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
