"""Every relative link of every Markdown file leads to a file that is there, and to a heading of it."""

import re
import sys
from pathlib import Path

from commands import ROOT

OUTSIDE = {"build", "runs", "lab", ".git"}


def pages() -> list:
    found = [page for page in sorted(ROOT.rglob("*.md"))]
    return [page for page in found if page.relative_to(ROOT).parts[0] not in OUTSIDE]


def without_code(text: str) -> str:
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def links_of(text: str) -> list:
    return re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'<(?:a|img)\b[^>]*\b(?:href|src)="([^"]+)"', text)


def headings_of(text: str) -> set:
    """As the addresses that GitHub gives them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        address = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        same = sum(1 for each in found if re.fullmatch(re.escape(address) + r"(-\d+)?", each))
        found.add(f"{address}-{same}" if address in found else address)
    return found


def complaint_about(link: str, page: Path, text: str) -> str:
    path, _, heading = link.partition("#")
    if re.match(r"[a-z]+:", link):
        return ""
    if path and re.search(rf"--out {re.escape(path)}\b", text):
        return ""  # a command of the page writes it
    target = page.parent / path if path else page
    if not target.exists():
        return f"{page.relative_to(ROOT)}: {link}: there is no such file"
    if heading and target.suffix == ".md" and heading not in headings_of(target.read_text(encoding="utf-8")):
        return f"{page.relative_to(ROOT)}: {link}: there is no such heading"
    return ""


def main() -> int:
    count, complaints = 0, []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for link in links_of(without_code(text)):
            count += 1
            complaints.append(complaint_about(link, page, text))
    complaints = [each for each in complaints if each]
    if count < 100:
        complaints.append(f"only {count} links were found")
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
