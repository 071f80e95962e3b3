"""docs/command-line.md is the help of every verb, as the program prints it; --write makes the page anew."""

import os
import re
import subprocess
import sys

from classroom import program
from commands import ROOT

PAGE = ROOT / "docs/command-line.md"
BEGINNING = """# The command line

What each verb's `--help` prints, at 80 columns. [training.md](training.md) shows the verbs at work, and
[models.md](models.md) the formulas behind the keys.
"""


def printed(*words: str) -> str:
    done = subprocess.run([program(), *words], capture_output=True, text=True, check=True,
                          env=os.environ | {"COLUMNS": "80"})
    return "".join(line.rstrip() + "\n" for line in done.stdout.rstrip().splitlines())


def block(command: str, text: str) -> str:
    return f"\n```\n$ ./{command}\n{text}```\n"


def page() -> str:
    usage = printed("--help")
    verbs = re.findall(r"^  ([a-z]+) ", usage, re.M)
    sections = [BEGINNING + block("qkv --help", usage)]
    for verb in verbs:
        sections.append(f"\n## {verb}\n" + block(f"qkv {verb} --help", printed(verb, "--help")))
    return "".join(sections)


def main() -> int:
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == page():
        return 0
    print("docs/command-line.md is not what the verbs' --help prints; python3 tests/docs/help_page.py --write mends it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
