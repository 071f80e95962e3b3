"""The sizes of the house in lines stand in sizes.txt. A size may fall; who raises one writes why."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOOK = ("framework", "models", "data", "train", "cli")
BESIDE = ("tests", "docs", "configs")


def tracked() -> list:
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines()]


def lines_of(files) -> int:
    return sum(file.read_bytes().count(b"\n") for file in files if file.is_file())


def of_the_book(file: pathlib.Path) -> bool:
    return file.relative_to(ROOT).parts[0] in BOOK and file.suffix in (".cc", ".h")


def measured() -> dict:
    files = tracked()
    return {"book": lines_of(filter(of_the_book, files)),
            "tree": lines_of(file for file in files if file.relative_to(ROOT).parts[0] not in BESIDE),
            "architecture": lines_of([ROOT / "docs/architecture.md"])}


def main() -> int:
    limits = {}
    for line in (pathlib.Path(__file__).with_name("sizes.txt")).read_text().splitlines():
        if line and not line.startswith("#"):
            name, size, *_ = line.split()
            limits[name] = int(size)
    failed = False
    for name, size in measured().items():
        if size > limits[name]:
            print(f"{name}: {size} lines, more than the {limits[name]} of sizes.txt: remove some, or write there why")
            failed = True
        elif size < 0.99 * limits[name] and name != "architecture":
            print(f"{name}: {size} lines; lower the {limits[name]} of sizes.txt, so that it stays so")
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
