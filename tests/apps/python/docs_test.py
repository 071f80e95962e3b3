"""The blocks of docs/python.md and docs/notebooks.md run one after the other, and print what the page shows after #>."""

import contextlib
import io
import os
import re
import unittest
from pathlib import Path

DOCS = Path(os.environ['QKV_SOURCE_DIR']) / 'docs'


class PageTest(unittest.TestCase):
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
        self.check(DOCS / 'python.md')

    def test_the_page_of_runs_and_notebooks(self):
        self.check(DOCS / 'notebooks.md')


if __name__ == '__main__':
    unittest.main()
