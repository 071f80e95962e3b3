"""The stories of docs/stories.md, step by step, as they are written there."""

import re
import sys

from classroom import complaints_about
from commands import ROOT, Command, steps_of

STORIES = 3


def main() -> int:
    text = (ROOT / "docs/stories.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)$", text, flags=re.M)
    complaints = []
    for title, story in zip(parts[1::2], parts[2::2]):
        steps = steps_of(story)
        promises = sum(1 for each in steps if isinstance(each, Command) and each.promised)
        if promises < 2:
            complaints.append("it promises nothing")
        complaints += [f"{title}: {each}" for each in complaints_about(steps)]
    if len(parts) // 2 != STORIES:
        complaints.append(f"there are {len(parts) // 2} stories, not {STORIES}")
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
