"""qkv generate without a prompt: a person at a terminal is asked again and again, and a pipe is answered line by line."""

import ctypes
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QKV = os.environ["QKV"]
CONFIG = """name = "tiny"
[data]
task = "reverse"
alphabet = 4
length = 3
[model]
num_layers = 1
d_model = 16
num_heads = 2
d_ff = 32
[train]
batch_size = 8
steps = 40
"""
PATIENCE = 120  # seconds; no machine needs as many
complaints = []


def expect(holds: bool, complaint: str) -> None:
    if not holds:
        complaints.append(complaint)


class Program:
    """It runs at a terminal, or with a pipe as its standard input and one as its output."""

    def __init__(self, folder: Path, *words: str, at_terminal: bool):
        command, self.seen = [QKV, "generate", "runs/tiny", *words], ""
        if at_terminal:
            pid, self.output = pty.fork()
            if pid == 0:
                os.chdir(folder)
                os.environ.update(TERM="xterm", NO_COLOR="1")
                os.execv(QKV, command)
            self.input, self.pid = self.output, pid
        else:
            started = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT)
            self.input, self.output, self.pid = started.stdin.fileno(), started.stdout.fileno(), started.pid
            self.started = started

    def type(self, text: str) -> None:
        os.write(self.input, text.encode())

    def read(self) -> bytes:
        try:
            return os.read(self.output, 4096) if select.select([self.output], [], [], PATIENCE)[0] else b""
        except OSError:  # a terminal whose program has ended
            return b""

    def until(self, pattern: str) -> str:
        """What it writes from now on until the pattern is there; "" where it never comes."""
        new, end = "", time.monotonic() + PATIENCE
        while not re.search(pattern, new) and time.monotonic() < end:
            part = self.read()
            if not part:
                break
            new += part.decode().replace("\r", "")
        self.seen += new
        found = re.search(pattern, new)
        expect(bool(found), f"waited for {pattern!r}, and read {self.seen!r}")
        return new if found else ""

    def status(self) -> int:
        if self.input != self.output:
            os.close(self.input)
        while self.read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def answered(folder: Path, prompt: str) -> str:
    words = [QKV, "generate", "runs/tiny", "--prompt", prompt, "--temperature", "0"]
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout[len(prompt):-1]


def has_history() -> bool:
    for library in ("libreadline.so.8", "libedit.so.2"):
        try:
            return bool(ctypes.CDLL(library))
        except OSError:
            continue
    return False


def test_a_pipe_gets_each_answer_before_it_asks_the_next(folder: Path) -> None:
    program = Program(folder, "--temperature", "0", at_terminal=False)
    for prompt in ("012=", "333="):
        program.type(prompt + "\n")
        expect(program.until("\n") == f"{prompt}{answered(folder, prompt)}\n", f"{prompt}: {program.seen}")
    program.type("x\n012=\n")
    program.until("error: standard input:3: unknown character 1: \"x\"")
    expect(program.status() == 2, "the mistake of a line is an error")


def test_a_person_is_asked_again_until_ctrl_d(folder: Path) -> None:
    program = Program(folder, "--temperature", "0", "--json", "talk.json", at_terminal=True)
    program.until("Ctrl-D ends\n(.|\n)*> ")
    for typed, prompt in (("012=", "012="), ("333=", "333="), ("\x1b[A\x1b[A" if has_history() else "012=", "012=")):
        program.type(typed + "\n")
        program.until(rf"\n(\x1b\S+)?{answered(folder, prompt)}\n(.|\n)*> ")
    program.type("x\n")
    program.until("error: the prompt: unknown character 1: \"x\"(.|\n)*> ")
    program.type("\x04")
    program.until("\n")
    expect(program.status() == 0, "Ctrl-D ends the talk well")
    texts = json.loads((folder / "talk.json").read_text())["texts"]
    expect([each["prompt"] for each in texts] == ["012=", "333=", "012="], f"the talk was {texts}")


def test_ctrl_c_ends_the_answer_or_else_the_talk(folder: Path) -> None:
    program = Program(folder, "--max-new-tokens", "100000000", at_terminal=True)
    program.until("> ")
    program.type("012=\n")
    program.until("[0-3=]{200}")
    program.type("\x03")
    program.until("\n(.|\n)*> ")
    program.type("\x03")
    expect(program.status() in (130, -signal.SIGINT), "Ctrl-C ends the talk")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tiny.toml").write_text(CONFIG)
        subprocess.run([QKV, "train", "tiny.toml"], cwd=folder, check=True, capture_output=True)
        for each, test in list(globals().items()):
            if each.startswith("test_"):
                test(folder)
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
