"""A folder in which the commands of a lesson run as they are written, with the built program as ./qkv."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from course import ROOT, Change, Command

LESSONS = "qkv-lessons"  # the program of gradcheck, explain and lab


def program() -> Path:
    return Path(os.environ.get("QKV", ROOT / "build/release/qkv"))


class Classroom:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="qkv-course-"))
        for name in ("qkv", LESSONS):
            shutil.copy2(program().with_name(name), self.folder / name)
        (self.folder / "configs").symlink_to(ROOT / "configs")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def run(self, command: Command) -> tuple:
        """(exit status, what it printed)."""
        words = command.words()
        if words[:2] == ["git", "checkout"]:  # the mistake is taken back
            shutil.copy2(program().with_name(LESSONS), self.folder / LESSONS)
            return 0, ""
        done = subprocess.run(words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              encoding="utf-8")
        return done.returncode, done.stdout

    def plant(self, change: Change) -> None:
        """Compiles the one file with the mistake in it, and links it before the libraries that have the right one."""
        source = (ROOT / change.file).read_text(encoding="utf-8")
        if source.count(change.old + "\n") != 1:
            raise RuntimeError(f"{change.file} has not one line {change.old!r}")
        wrong = self.folder / Path(change.file).name
        wrong.write_text(source.replace(change.old + "\n", change.new + "\n"), encoding="utf-8")
        build = program().parent
        commands = commands_of(build)
        [compile_it, *_] = [line for line in commands if compiles(line, ROOT / change.file)]
        compile_it = re.sub(r" -MD -MT \S+ -MF \S+", "", compile_it)  # the build keeps its list of headers
        compile_it = re.sub(r" -o \S+ -c \S+$", f" -o {wrong}.o -c {wrong}", compile_it)
        before = f" {wrong}.o -Wl,--allow-multiple-definition -o {self.folder / LESSONS} "
        link = commands[-1].replace(f" -o {LESSONS} ", before)
        for line in (compile_it, link):
            done = subprocess.run(line, shell=True, cwd=build, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{change.file} with its mistake: {line}\n{done.stderr}")


def commands_of(build: Path) -> list:
    """That make the program of the lessons; the last one links it."""
    ninja = os.environ.get("QKV_NINJA", "ninja")
    listed = subprocess.run([ninja, "-C", build, "-t", "commands", LESSONS], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if not line.startswith("ninja:")]


def compiles(command: str, source: Path) -> bool:
    """Alone, or with the other files of its folder."""
    found = re.search(r" -c (\S+)$", command)
    if not found:
        return False
    unit = Path(found.group(1))
    return unit == source or (unit.suffix == ".cxx" and f'"{source}"' in unit.read_text(encoding="utf-8"))
