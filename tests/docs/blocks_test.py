"""Every command whose output a page shows is run, and prints that: README.md, docs/*.md.

Compared are all digits but those of the clock and the machine (MEASURED in commands.py), and near what is promised those
of the processor (ROUNDED).
"""

import re
import sys

from classroom import Classroom, complaints_about_one
from commands import ROOT, Command, File, steps_of

# Those that the test does not run.
NOT_RUN = {
    "./test -R swiglu": "the op is an example, and the tree has none of that name",
    "./qkv train configs/sort.toml": "takes half a minute; what it promises is tested with a small model",
    "./qkv train runs/sort": "the same",
    "./qkv train configs/reverse.toml --set model.num_layers=3": "takes half a minute; FirstWeightsTest has its lines",
    "./qkv doctor": "takes half a minute; DoctorTest has its lines",
    "./qkv train configs/reverse.toml --set optimizer.learning_rate=1000": "the sums of another processor break elsewhere",
    "./qkv replay": "the same; ReplayTest has such lines",
    "./qkv predict runs/image_folder": "the run takes twenty seconds; ImageFolderRunTest has such lines",
    "./qkv sweep configs/reverse.toml": "takes two minutes; stories.md has one",
}
COURSES_AND_STORIES = {"course.md", "course.zh.md", "stories.md", "command-line.md"}  # have tests of their own


def complaints_about_report(text: str) -> list:
    """A report of examples/gradcheck.cc is a part of what it prints, and a test runs it."""
    printed = (ROOT / "examples/gradcheck.expected").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(.*?)^```$", text, re.M | re.S)
    reports = [each for each in blocks if re.match(r"twice too large|FAIL  order 1  x f64", each)]
    return [f"examples/gradcheck.cc does not print\n{each}" for each in reports if each not in printed]


class Run:
    """The commands of all pages, each once, in one folder."""

    def __init__(self, classroom: Classroom):
        self.classroom, self.done, self.not_run = classroom, {}, set()

    def complaints_about(self, step) -> list:
        if isinstance(step, File):
            self.classroom.write(step)
            return []
        if not isinstance(step, Command) or not step.promised:
            return []
        reason = [start for start in NOT_RUN if step.line.startswith(start)]
        self.not_run.update(reason)
        if reason:
            return []
        line = re.sub(r"\s+#.*", "", step.line)
        if line not in self.done:
            self.done[line] = self.classroom.run(step)
        status, printed = self.done[line]
        printed = re.sub(r"^step .* left\n", "", printed, flags=re.M)  # which the clock adds between evaluations
        return complaints_about_one(step, status, printed)


def main() -> int:
    complaints = []
    with Classroom() as classroom:
        run = Run(classroom)
        for page in [ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").glob("*.md"))]:
            if page.name in COURSES_AND_STORIES:
                continue
            text = page.read_text(encoding="utf-8")
            complaints += [f"{page.name}: {each}" for each in complaints_about_report(text)]
            for step in steps_of(text):
                if isinstance(step, File) and "/" in step.name:
                    continue  # a source of the tree
                complaints += [f"{page.name}: {each}" for each in run.complaints_about(step)]
        complaints += [f"no page has a command {each!r}" for each in set(NOT_RUN) - run.not_run]
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
