"""CI starts every program of tools/: by a test, by .ci/run, or by another program that is started."""

import subprocess
import sys

from commands import ROOT

# Those that a person starts: each compiles everything once more, and most of a minute of CI is what it may cost.
BY_HAND = {
    "measuring/first-minutes": "compiles what CI has just compiled",
    "check/fuzz": "compiles with clang; fuzz_test runs its targets on their corpus",
    "check/torture": "compiles, and starts the program that CTest starts",
    "check/try-package": "needs root, and makes a Debian",
}
STARTERS = [".ci", "cmake", "CMakeLists.txt", "qkv", "test", "tests"]


def lines_of(path: str) -> str:
    """Without the comments, in which a name is no start."""
    lines = (ROOT / path).read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("#", "//", '"""')))


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "tools", *STARTERS], cwd=ROOT, check=True, capture_output=True, text=True)
    texts = {path: lines_of(path) for path in listed.stdout.split() if path != "tests/docs/tools_test.py"}
    tools = {path for path in texts if path.startswith("tools/") and "/lint-page/" not in path}
    started = {path for path in texts if path not in tools}
    while True:
        found = {tool for tool in tools - started
                 if any(names(texts[path], tool) for path in started if path in texts)}
        if not found:
            break
        started |= found
    missing = [tool for tool in sorted(tools - started) if tool.removeprefix("tools/") not in BY_HAND]
    for tool in missing:
        print(f"{tool}: nothing starts it")
    for name in sorted(BY_HAND):
        if f"tools/{name}" not in tools:
            print(f"tools/{name}: there is no such file")
    return 1 if missing else 0


def names(text: str, tool: str) -> bool:
    """tools/NAME; or what Python imports, which is no plain word."""
    stem = tool.rpartition("/")[2].removesuffix(".py")
    return tool in text or not stem.isalpha() and stem in text


if __name__ == "__main__":
    sys.exit(main())
