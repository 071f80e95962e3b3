"""The sizes of the house in lines stand in sizes.txt. A size may fall; who raises one writes why. What docs/reading.md
lists is counted, too."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOOK = ("framework", "models", "data", "train", "cli")
LINES_A_MINUTE = 18  # aloud
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


def read_aloud() -> tuple:
    """The lists of docs/reading.md: (minute, file) of what is read aloud, and the files besides."""
    _, aloud, besides = (ROOT / "docs/reading.md").read_text().split("\n## ")
    rows = re.findall(r"^\| (\d+) \| \[.*?\]\(\.\./(.*?)\)", aloud, re.MULTILINE)
    linked = re.findall(r"\(\.\./(.*?)\)", besides)
    return [(int(minute), ROOT / name) for minute, name in rows], [ROOT / name for name in linked]


def wrong_in_reading() -> list:
    rows, besides = read_aloud()
    aloud = [file for _, file in rows]
    wrong = []
    for name, files, most_files, most_lines in (("aloud", aloud, 13, 700), ("besides", besides, 30, 2500)):
        if len(files) > most_files or lines_of(files) > most_lines:
            wrong.append(f"{name}: {len(files)} files with {lines_of(files)} lines, of at most {most_files} with {most_lines}")
    for i, (minute, file) in enumerate(rows):
        if minute != round(lines_of(aloud[:i]) / LINES_A_MINUTE):
            wrong.append(f"{file.name} begins in minute {round(lines_of(aloud[:i]) / LINES_A_MINUTE)}, not {minute}")
    wrong += [f"there is no {file}" for file in aloud + besides if not file.is_file()]
    return wrong


def main() -> int:
    limits = {}
    for line in (pathlib.Path(__file__).with_name("sizes.txt")).read_text().splitlines():
        if line and not line.startswith("#"):
            name, size, *_ = line.split()
            limits[name] = int(size)
    wrong = wrong_in_reading()
    for each in wrong:
        print(f"docs/reading.md: {each}")
    failed = bool(wrong)
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
