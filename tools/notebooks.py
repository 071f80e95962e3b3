#!/usr/bin/env python3
"""Makes notebooks of scripts in the percent format: tools/notebooks.py SCRIPTS NOTEBOOKS.

SCRIPTS is a folder of scripts, or one of them; NOTEBOOKS a folder. A line "# %%" begins a cell of code, "# %% [markdown]"
one of text, whose lines are comments. A notebook that somebody has changed stays as it is."""

import hashlib
import json
import sys
from pathlib import Path


def cells_of(script: str) -> list:
    """[(type, text)]; what stands before the first cell belongs to nobody."""
    cells = []
    for line in script.splitlines():
        if line.startswith("# %%"):
            cells.append(("markdown" if "[markdown]" in line else "code", []))
        elif cells:
            kind, lines = cells[-1]
            lines.append(line.removeprefix("#").removeprefix(" ") if kind == "markdown" else line)
    return [(kind, "\n".join(lines).strip("\n")) for kind, lines in cells]


def digest(cells: list) -> str:
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def notebook_of(cells: list) -> dict:
    def cell(number, kind, text):
        described = {"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": text}
        return described if kind == "markdown" else {**described, "execution_count": None, "outputs": []}

    return {"cells": [cell(number, *each) for number, each in enumerate(cells)],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                         "qkv": {"made_of": digest(cells)}},
            "nbformat": 4, "nbformat_minor": 5}


def is_changed(notebook: dict) -> bool:
    """Whether the cells are others than it was made with; results don't count."""
    cells = [[cell["cell_type"], "".join(cell["source"])] for cell in notebook["cells"]]
    return digest(cells) != notebook["metadata"].get("qkv", {}).get("made_of")


def make(script: Path, path: Path) -> None:
    cells = cells_of(script.read_text(encoding="utf-8"))
    if not cells:  # a script that is not a notebook
        return
    new = notebook_of(cells)
    if path.exists():
        try:
            old = json.loads(path.read_text(encoding="utf-8"))
            if old["metadata"]["qkv"] == new["metadata"]["qkv"]:
                return
            kept = is_changed(old)
        except (ValueError, KeyError):
            kept = True
        if kept:
            print(f"{path} was changed and is kept; without it there is a new one of {script}", file=sys.stderr)
            return
    path.write_text(json.dumps(new, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(scripts: str, notebooks: str) -> None:
    source, folder = Path(scripts), Path(notebooks)
    folder.mkdir(parents=True, exist_ok=True)
    for script in [source] if source.is_file() else sorted(source.glob("*.py")):
        make(script, folder / f"{script.stem}.ipynb")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
