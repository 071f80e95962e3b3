"""The pages of docs/course.md, at the addresses that a teacher opens."""

import re
import subprocess
import sys
from urllib.parse import parse_qs

import browser
import engine
from page import Page
from report import expect, expect_equal

sys.path.insert(0, str(engine.ROOT / "tests/docs"))
from course import lessons_of  # noqa: E402

LESSONS = lessons_of("course.md")

# What is shown, as the page writes it.
ADDRESS = "return document.getElementById('lesson').app.addressOf({})"


class CoursePage:
    """What a command of a lesson writes, `./qkv explain … --out NAME.html`, and before it the run that it shows."""

    def __init__(self, lesson, command):
        words = command.words()[1:]
        self.name = words[words.index("--out") + 1]
        wanted = [words]
        if not words[1].startswith("--"):
            trainings = [each.words()[1:] for each in lesson.commands("train")]
            wanted[:0] = [each for each in trainings if each[each.index("--out") + 1] == words[1]]

        def make(here):
            (here / "configs").unlink(missing_ok=True)
            (here / "configs").symlink_to(engine.ROOT / "configs")
            for each in wanted:
                subprocess.run([engine.program(), *each], cwd=here, check=True, capture_output=True)

        self.page = engine.made_once(f"course-{self.name}", wanted, make) / self.name


def pages_of(lesson) -> dict:
    commands = [each for each in lesson.commands("explain") if "--out" in each.words()]
    pages = [CoursePage(lesson, command) for command in commands]
    return {page.name: page for page in pages}


def sentence_of(lesson, address: str) -> str:
    """The item of a list that begins with it."""
    [found] = re.findall(rf"^- \[{re.escape(address)}\].*", lesson.text, re.M)
    return found


def test_the_addresses_of_the_course_lead_where_they_say():
    for lesson in LESSONS:
        for name, written in pages_of(lesson).items():
            addresses = [address for page, address in lesson.addresses() if page == name]
            expect(bool(addresses), f"lesson {lesson.number} has no address into {name}")
            page = Page(written)
            for address in addresses:
                where = f"lesson {lesson.number}, {address}"
                expect(f"[{address}](" in lesson.text, f"{where}: the text of the link is another")
                page.call("go", f"{address}&lang=en")
                given = parse_qs(address[1:])
                expect_equal(page.call("shown")["step"], given["step"][0], where)
                now = parse_qs(browser.script(ADDRESS)[1:])
                expect_equal({key: now.get(key) for key in given}, given, f"{where}: the state of the page")


def test_the_numbers_of_the_course_are_those_of_the_page():
    """Each cell's own number stands in the sentence that its address begins."""
    for lesson in LESSONS:
        for name, written in pages_of(lesson).items():
            page = Page(written)
            for address in [each for page_name, each in lesson.addresses() if page_name == name and "cell=" in each]:
                page.call("go", f"{address}&lang=en")
                key, row, column = parse_qs(address[1:])["cell"][0].split(".")
                expect_equal(page.cell_name(), f"{key}[{row},{column}]", address)
                [cell] = page.cells([{"key": key, "row": int(row), "column": int(column)}])
                number = float(cell["number"].replace("−", "-"))
                sentence = sentence_of(lesson, address)
                told = [float(each.replace("−", "-")) for each in re.findall(r"−?\d+(?:\.\d+)?", sentence.split(" – ")[1])]
                expect(any(abs(each - number) < 6e-4 for each in told), f"{address}: {number} is not among {told}")
