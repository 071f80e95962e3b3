"""Takes in what a student hands in, and runs it in a process with little time, little memory, no network."""

import errno
import functools
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from child import decoded

CHILD = Path(__file__).with_name("child.py")
SECONDS, LARGEST = 10, 1 << 16  # of computing; bytes of a file
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


class Refused(Exception):
    """A file that cannot be checked: the name of the sentence that says why, and what stands in it."""

    def __init__(self, kind: str, **facts):
        super().__init__(f"{kind} {facts}")
        self.kind, self.facts = kind, facts


def taken_in(path: Path) -> bytes:
    """The file's bytes, if it is a small file of its own: no link is followed, and no pipe is waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        kinds = {errno.ENOENT: "no_file", errno.ELOOP: "link", errno.ENXIO: "no_plain_file"}
        raise Refused(kinds.get(error.errno, "not_readable"), why=error.strerror) from None
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise Refused("no_plain_file")
        if state.st_size > LARGEST:
            raise Refused("large", size=f"{state.st_size / 1e6:.1f}", most=LARGEST // 1000)
        return os.read(handle, LARGEST)
    finally:
        os.close(handle)


@functools.cache
def without_network() -> tuple:
    """What a command begins with that is to have no network; () where the system does not allow it."""
    words = ("unshare", "--map-root-user", "--net", "--")
    try:
        return words if subprocess.run([*words, "true"], capture_output=True).returncode == 0 else ()
    except OSError:
        return ()


def run(files: dict, request: dict, seconds: int = SECONDS) -> list:
    """What the functions of the files answer. Refused, if the process does not end as it should."""
    with tempfile.TemporaryDirectory(prefix="qkv-ladder-") as scratch:
        for name, text in files.items():
            Path(scratch, name).write_bytes(text)
        environment = {"PATH": os.defpath, "HOME": scratch, "LC_ALL": "C.UTF-8"} | dict.fromkeys(ONE_THREAD, "1")
        with open(Path(scratch, "printed"), "wb") as printed:
            process = subprocess.Popen([*without_network(), sys.executable, "-I", "-B", CHILD], cwd=scratch, env=environment,
                                       stdin=subprocess.PIPE, stdout=printed, stderr=printed,
                                       start_new_session=True)
            try:
                process.communicate(json.dumps(request | {"seconds": seconds}).encode(), timeout=11 * seconds)
                ended = process.returncode
            except subprocess.TimeoutExpired:
                ended = -signal.SIGXCPU
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
        return answers_of(Path(scratch), ended)


def answers_of(scratch: Path, ended: int) -> list:
    if ended in (-signal.SIGXCPU, -signal.SIGKILL):
        raise Refused("no_end", line="?")
    try:
        answers = json.loads((scratch / "answers").read_bytes())
        return [each | {"value": decoded(each["value"])} if "value" in each else each | {} for each in answers]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        said = (scratch / "printed").read_bytes()[-200:].decode(errors="replace").strip().rpartition("\n")[2]
        raise Refused("ended", status=ended, said=said) from None  # the file has ended Python, or has written this itself
