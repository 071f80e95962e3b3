"""What the tests of the ladder share: the program, and folders of students made of the solutions."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
APP = SOURCE / "apps/ladder"
SOLUTIONS = HERE / "solutions"
sys.path.insert(0, str(APP))

try:
    import numpy  # noqa: F401
    import qkv  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


class LadderTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def student(self, name: str, *, without=(), **changes) -> Path:
        """A folder with the solutions; `rung04=("old", "new")` changes one of them."""
        folder = self.folder / name
        shutil.copytree(SOLUTIONS, folder, ignore=shutil.ignore_patterns("__pycache__", *without))
        for rung, (old, new) in changes.items():
            [path] = folder.glob(f"{rung}_*.py")
            text = path.read_text(encoding="utf-8")
            self.assertIn(old, text)
            path.write_text(text.replace(old, new), encoding="utf-8")
        return folder

    def ladder(self, *words, status: int = 0) -> str:
        done = subprocess.run([sys.executable, "-B", APP / "ladder.py", *map(str, words)], cwd=self.folder,
                              capture_output=True,
                              text=True, env=os.environ | {"LC_ALL": "C.UTF-8"})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stdout + done.stderr)
        return done.stdout + done.stderr
