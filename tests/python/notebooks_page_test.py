"""The blocks of docs/notebooks.md run one after the other, and print what the page shows after #>."""

import contextlib
import io
import os
import re
import unittest
from pathlib import Path

PAGE = Path(os.environ["QKV_SOURCE_DIR"]) / "docs/notebooks.md"


class PageTest(unittest.TestCase):
    def test_every_block_prints_what_the_page_shows(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
        self.assertGreater(len(blocks), 3)
        names = {}
        for block in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block, str(PAGE), "exec"), names)
            shown = "".join(line + "\n" for line in re.findall(r"^#> ?(.*)$", block, re.MULTILINE))
            self.assertEqual(printed.getvalue(), shown, block)


if __name__ == "__main__":
    unittest.main()
