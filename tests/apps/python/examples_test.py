"""The blocks of docs/python.md and docs/notebooks.md run one after the other, and print what the page shows after #>; the
notebooks of examples/python run as scripts, and become notebooks."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from runs import Folder

SOURCE = Path(os.environ["QKV_SOURCE_DIR"])
EXAMPLES = sorted((SOURCE / "examples/python").glob("*.py"))
NOTEBOOKS = [script for script in EXAMPLES if "# %%" in script.read_text()]
SKIPPED = 77


class DocsTest(unittest.TestCase):
    def check(self, page):
        blocks = re.findall(r'^```python\n(.*?)^```$', page.read_text(), re.DOTALL | re.MULTILINE)
        self.assertGreater(len(blocks), 3)
        names = {'__name__': '__main__'}
        for block in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block, str(page), 'exec'), names)
            shown = ''.join(line + '\n' for line in re.findall(r'^#> ?(.*)$', block, re.MULTILINE))
            self.assertEqual(printed.getvalue(), shown, block)

    def test_the_page_of_the_engine(self):
        self.check(SOURCE / 'docs' / 'python.md')

    def test_the_page_of_runs_and_notebooks(self):
        self.check(SOURCE / 'docs' / 'notebooks.md')


class ExamplesTest(unittest.TestCase):
    def run_example(self, script):
        with Folder() as folder:
            result = subprocess.run([sys.executable, "-B", script], cwd=folder, capture_output=True, text=True)
        if result.returncode == SKIPPED:
            self.skipTest(result.stdout.strip())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue(result.stdout)


for example in EXAMPLES:
    setattr(ExamplesTest, f"test_{example.stem}", lambda self, script=example: self.run_example(script))


class NotebooksTest(unittest.TestCase):
    def make(self, folder, scripts=SOURCE / "examples/python"):
        return subprocess.run([sys.executable, "-B", SOURCE / "tools/notebooks.py", scripts, folder],
                              capture_output=True, text=True, check=True)

    def test_each_script_becomes_a_notebook_with_all_its_lines(self):
        with Folder() as folder:
            self.make(folder)
            self.assertEqual([path.stem for path in sorted(folder.glob("*.ipynb"))], [path.stem for path in NOTEBOOKS])
            self.assertGreaterEqual(len(NOTEBOOKS), 5)
            for script in NOTEBOOKS:
                notebook = json.loads((folder / f"{script.stem}.ipynb").read_text())
                text = "\n".join(cell["source"] for cell in notebook["cells"])
                for line in script.read_text().splitlines():
                    if not line.startswith("# %%"):
                        self.assertIn(line.removeprefix("# ").rstrip("#"), text)
                self.assertEqual(notebook["cells"][0]["cell_type"], "markdown")

    def test_a_notebook_that_somebody_changed_is_kept(self):
        with Folder() as folder:
            script, notebook = folder / "a.py", folder / "a.ipynb"
            script.write_text("# %%\none\n")
            self.make(folder, script)
            script.write_text("# %%\ntwo\n")
            self.make(folder, script)
            self.assertIn("two", notebook.read_text())
            notebook.write_text(notebook.read_text().replace("two", "mine"))
            script.write_text("# %%\nthree\n")
            self.assertIn("is kept", self.make(folder, script).stderr)
            self.assertIn("mine", notebook.read_text())


if __name__ == "__main__":
    unittest.main()
