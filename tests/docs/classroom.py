"""A folder in which the commands of a page run as they are written, with the built program as ./qkv."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from commands import ROOT, Change, Command, File


def program() -> Path:
    return Path(os.environ.get("QKV", ROOT / "build/release/qkv"))


def programs_of_apps() -> list:
    """The names of those that are there."""
    names = {f"qkv-{verbs.parent.name}" for verbs in (ROOT / "apps").glob("*/verbs")}
    return sorted(name for name in names if program().with_name(name).exists())


LADDER_PYTHON = "/usr/bin/python3"


def environment(folder: Path) -> dict:
    return os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}", "PYTHONPATH": str(program().parent / "python"),
                         "LC_ALL": "C.UTF-8"}


def has_ladder() -> bool:
    """Whether that Python has NumPy and the package of apps/python."""
    asked = [LADDER_PYTHON, "-c", "import numpy, qkv"]
    return subprocess.run(asked, env=environment(ROOT), capture_output=True).returncode == 0


class Classroom:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="qkv-course-"))
        for name in ("qkv", *programs_of_apps()):
            shutil.copy2(program().with_name(name), self.folder / name)
        for name in ("configs", "LICENSE"):
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "build").mkdir()
        (self.folder / "build/release").symlink_to(program().parent)
        (self.folder / "bin").mkdir()  # ./qkv installs Ninja and no make, so here there is none
        for name in ("make", "gmake"):
            (self.folder / "bin" / name).write_text("#!/bin/sh\necho 'there is no make here'\nexit 127\n")
            (self.folder / "bin" / name).chmod(0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def run(self, command: Command) -> tuple:
        """(exit status, what it printed)."""
        line = command.line
        if command.words()[:2] == ["./qkv", "ladder"]:  # which the script ./qkv starts with the system's Python
            line = line.replace("./qkv ladder", f"{LADDER_PYTHON} -B {ROOT}/apps/ladder/ladder.py")
            if "--begin" not in line:  # the class has written its files
                shutil.copytree(ROOT / "tests/apps/ladder/solutions", self.folder / "ladder", dirs_exist_ok=True)
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, encoding="utf-8", env=environment(self.folder))
        return done.returncode, done.stdout

    def write(self, file: File) -> None:
        (self.folder / file.name).write_text(file.text, encoding="utf-8")

    def change(self, change: Change) -> None:
        """Of the reader's own file."""
        file = self.folder / change.file
        text = file.read_text(encoding="utf-8")
        if text.count(change.old + "\n") != 1:
            raise RuntimeError(f"{change.file} has not one line {change.old!r}")
        file.write_text(text.replace(change.old + "\n", change.new + "\n"), encoding="utf-8")


def complaints_about(steps: list, printed: list = None) -> list:
    """What happens otherwise than the page says, where its steps are taken one after the other; `printed` gets what the
    commands print."""
    complaints = []
    with Classroom() as classroom:
        for step in steps:
            if isinstance(step, File):
                classroom.write(step)
            elif isinstance(step, Change):
                classroom.change(step)
            else:
                status, text = classroom.run(step)
                complaints += complaints_about_one(step, status, text)
                if printed is not None:
                    printed.append(text)
    return complaints


def complaints_about_one(command: Command, status: int, printed: str) -> list:
    wanted = 1 if command.fails() else 0
    if (status, wanted) not in ((0, 0), (1, 1), (2, 1)):
        return [f"{command.line}\n  exit status {status}; it printed\n{printed}"]
    if command.is_kept(printed):
        return []
    return ["\n".join([command.line, "  promised", *command.promised, "  printed", printed])]
