"""A folder in which the commands of a page run as they are written, with the built program as ./qkv."""

import os
import re
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
        if command.words()[:2] == ["git", "checkout"]:  # the mistake is taken back
            for name in programs_of_apps():
                shutil.copy2(program().with_name(name), self.folder / name)
            return 0, ""
        done = subprocess.run(["bash", "-c", command.line], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, encoding="utf-8",
                              env=os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"})
        return done.returncode, done.stdout

    def write(self, file: File) -> None:
        (self.folder / file.name).write_text(file.text, encoding="utf-8")

    def change(self, change: Change) -> None:
        """Of the reader's own file, or else of the sources."""
        own = self.folder / change.file
        source = own if own.exists() else ROOT / change.file
        text = source.read_text(encoding="utf-8")
        if text.count(change.old + "\n") != 1:
            raise RuntimeError(f"{change.file} has not one line {change.old!r}")
        changed = own if own.exists() else self.folder / source.name
        changed.write_text(text.replace(change.old + "\n", change.new + "\n"), encoding="utf-8")
        if not own.exists():
            self.plant(change, changed)

    def plant(self, change: Change, wrong: Path) -> None:
        """Compiles the one file with the mistake in it, and links it before the libraries that have the right one."""
        build = program().parent
        to_link = {name: commands_of(build, name) for name in programs_of_apps()}
        [compile_it, *_] = [line for commands in to_link.values() for line in commands if compiles(line, ROOT / change.file)]
        compile_it = re.sub(r" -MD -MT \S+ -MF \S+", "", compile_it)  # the build keeps its list of headers
        compile_it = re.sub(r" -o \S+ -c \S+$", f" -o {wrong}.o -c {wrong}", compile_it)
        before = f" {wrong}.o -Wl,--allow-multiple-definition -o {self.folder}/"
        links = [commands[-1].replace(f" -o {name} ", f"{before}{name} ") for name, commands in to_link.items()]
        for line in (compile_it, *links):
            done = subprocess.run(line, shell=True, cwd=build, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{change.file} with its mistake: {line}\n{done.stderr}")


def commands_of(build: Path, name: str) -> list:
    """That make the program; the last one links it."""
    ninja = os.environ.get("QKV_NINJA", "ninja")
    listed = subprocess.run([ninja, "-C", build, "-t", "commands", name], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if not line.startswith("ninja:")]


def compiles(command: str, source: Path) -> bool:
    """Alone, or with the other files of its folder."""
    found = re.search(r" -c (\S+)$", command)
    if not found:
        return False
    unit = Path(found.group(1))
    return unit == source or (unit.suffix == ".cxx" and f'"{source}"' in unit.read_text(encoding="utf-8"))


def complaints_about(steps: list) -> list:
    """What happens otherwise than the page says, where its steps are taken one after the other."""
    complaints = []
    with Classroom() as classroom:
        for step in steps:
            if isinstance(step, File):
                classroom.write(step)
            elif isinstance(step, Change):
                classroom.change(step)
            else:
                complaints += complaints_about_one(step, *classroom.run(step))
    return complaints


def complaints_about_one(command: Command, status: int, printed: str) -> list:
    wanted = 1 if command.fails() else 0
    if (status, wanted) not in ((0, 0), (1, 1), (2, 1)):
        return [f"{command.line}\n  exit status {status}; it printed\n{printed}"]
    if command.is_kept(printed):
        return []
    return ["\n".join([command.line, "  promised", *command.promised, "  printed", printed])]
