"""Runs tests by their names: Page.NoRequestIsMade is no_request_is_made() with test_ before it, in a *_test.py."""

import importlib
import sys
import time
import traceback
from pathlib import Path

import browser
from report import Skipped, complaints

SKIPPED = 77


def name_of(function: str) -> str:
    return "Page." + "".join(word.capitalize() for word in function.split("_")[1:])


def all_tests() -> dict:
    """By name."""
    tests = {}
    for file in sorted(Path(__file__).parent.glob("*_test.py")):
        module = importlib.import_module(file.stem)
        tests.update({name_of(name): test for name, test in vars(module).items() if name.startswith("test_")})
    return tests


def run(name: str, test) -> str:
    """"passed", "failed" or "skipped"."""
    complaints.clear()
    begin = time.monotonic()
    result = "passed"
    try:
        test()
    except Skipped as reason:
        print(f"skipped: {reason}")
        result = "skipped"
    except Exception:
        complaints.append(traceback.format_exc().split("Stacktrace:")[0])  # of Chromium's own
    if complaints:
        result = "failed"
        complaints.show()
    print(f"{name}: {result} in {time.monotonic() - begin:.1f} s", flush=True)
    return result


def main(arguments: list) -> int:
    tests = all_tests()
    if arguments == ["--list"]:
        print("\n".join(tests))
        return 0
    unknown = [name for name in arguments if name not in tests]
    if unknown:
        print(f"there is no test {unknown[0]}")
        return 2
    try:
        results = [run(name, tests[name]) for name in arguments or tests]
    finally:
        browser.close()
    if "failed" in results:
        return 1
    return SKIPPED if all(result == "skipped" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
