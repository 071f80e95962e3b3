"""Runs tests by their names: Page.NoRequestIsMade is test_no_request_is_made() of some *_test.py, and Page.Changes all
of changes_test.py."""

import importlib
import sys
import time
import traceback
from pathlib import Path

import browser
from report import Skipped, complaints

SKIPPED = 77


def name_of(words: str) -> str:
    return "Page." + "".join(word.capitalize() for word in words.split("_"))


def all_tests() -> dict:
    """By the name of their file: {name: test}."""
    files = {}
    for file in sorted(Path(__file__).parent.glob("*_test.py")):
        members = vars(importlib.import_module(file.stem)).items()
        files[name_of(file.stem.removesuffix("_test"))] = {
            name_of(name.removeprefix("test_")): member for name, member in members if name.startswith("test_")}
    return files


def run(name: str, test) -> str:
    """"passed", "failed" or "skipped"."""
    complaints.clear()
    begin = time.monotonic()
    result = "passed"
    try:
        browser.begin_test()
        test()
        complaints.extend(browser.uncaught())
    except Skipped as reason:
        print(f"skipped: {reason}")
        result = "skipped"
    except Exception:
        complaints.append(traceback.format_exc().split("Stacktrace:")[0])  # of Chromium's own
        browser.close()  # the next test has another
    if complaints:
        result = "failed"
        complaints.show()
    print(f"{name}: {result} in {time.monotonic() - begin:.1f} s", flush=True)
    return result


def main(arguments: list) -> int:
    files = all_tests()
    tests = {name: test for members in files.values() for name, test in members.items()}
    unknown = [name for name in arguments if name not in tests and name not in files]
    if unknown:
        print(f"there is no test {unknown[0]}")
        return 2
    names = [name for each in arguments for name in files.get(each, [each])] or tests
    try:
        results = [run(name, tests[name]) for name in names]
    finally:
        browser.close()
    if "failed" in results:
        return 1
    return SKIPPED if all(result == "skipped" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
