"""A run that is trained in a second, for tests, and the command line beside Python."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIG = {
    "name": "tiny",
    "seed": 3,
    "data": {"task": "reverse", "alphabet": 4, "length": 3, "validation_examples": 16},
    "model": {"num_layers": 1, "d_model": 16, "num_heads": 2, "d_ff": 32},
    "optimizer": {"learning_rate": 5e-3, "warmup_steps": 4},
    "train": {"steps": 20, "batch_size": 8, "eval_interval": 10, "log_interval": 5, "threads": 1},
}


class Folder:
    """A temporary folder: with Folder() as folder."""

    def __enter__(self) -> Path:
        self._made = tempfile.TemporaryDirectory()
        return Path(self._made.__enter__())

    def __exit__(self, *error):
        self._made.__exit__(*error)


def interrupted(call: str, folder) -> str:
    """What a program prints that ctrl-c reaches in a call, which prints a first line by itself."""
    script = f"import qkv, runs, sys\ntry:\n    {call}\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    environment = dict(os.environ, PYTHONPATH=f"{Path(__file__).parent}:{os.environ['PYTHONPATH']}")
    with subprocess.Popen([sys.executable, "-B", "-c", script, folder], env=environment, stdout=subprocess.PIPE,
                          text=True) as process:
        while process.stdout.readline() not in ("go\n", ""):
            pass
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    if process.returncode != 0:
        raise AssertionError(f"{call} ended with {process.returncode}: {rest}")
    return rest


def qkv_program(*words, folder=None) -> subprocess.CompletedProcess:
    return subprocess.run([os.environ["QKV"], *map(str, words)], cwd=folder, capture_output=True, text=True)


def error_of(*words, folder=None) -> str:
    """What the command line says after "error: "; several mistakes are several lines."""
    result = qkv_program(*words, folder=folder)
    if result.returncode not in (1, 2):
        raise AssertionError(f"{words} ended with {result.returncode}: {result.stdout}{result.stderr}")
    return "\n".join(line.removeprefix("error: ") for line in result.stderr.splitlines())
