#!/usr/bin/env python3
"""tests/tokenizers/make_lines.py SEED: 10,000 different lines of random words in 8 scripts, with what makes
tokenizers differ: numbers, punctuation, contractions, white space of every kind, combining marks, emoji. A seed
always gives the same ones."""

import random
import sys

SCRIPTS = [  # ranges of letters
    [(0x61, 0x7A), (0x61, 0x7A), (0x61, 0x7A), (0x41, 0x5A), (0xE0, 0xF6), (0x100, 0x17F)],  # Latin
    [(0x3B1, 0x3C9), (0x391, 0x3A1)],  # Greek
    [(0x430, 0x44F), (0x410, 0x42F)],  # Cyrillic
    [(0x627, 0x63A), (0x641, 0x64A), (0x64B, 0x652), (0x660, 0x669)],  # Arabic, with marks and digits
    [(0x5D0, 0x5EA), (0x5B0, 0x5BC)],  # Hebrew, with points
    [(0x905, 0x939), (0x93E, 0x94D), (0x966, 0x96F)],  # Devanagari, with signs and digits
    [(0x4E00, 0x9FA5), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x3001, 0x3002)],  # Chinese and Japanese
    [(0xAC00, 0xD7A3)],  # Korean
]
BETWEEN = [" "] * 12 + ["  ", "   ", "\t", "\u00a0", "\u3000", " \t ", "\u2028", "\u0085", "\u200b", ""]
OTHERS = ["'s", "'re", "'S", "'ve ", "''t", "...", "?!", " -- ", "½", "Ⅷ", "१२३", "😀", "👩‍👩‍👧", "e\u0301", "$", "_",
          "\\", '"', "\x01", "١٤"]


def word(pick, letters):
    return "".join(chr(pick.randint(*pick.choice(letters))) for _ in range(pick.randint(1, 7)))


def line(pick, words):
    known = words[pick.randrange(len(SCRIPTS))]
    text = ""
    for _ in range(pick.randint(4, 15)):
        kind = pick.random()
        if kind < 0.7:
            text += pick.choice(known)
        elif kind < 0.8:
            text += str(pick.randint(0, 10 ** pick.randint(1, 8)))
        elif kind < 0.9:
            text += pick.choice(OTHERS)
        else:
            text += word(pick, pick.choice(SCRIPTS))
        text += pick.choice(BETWEEN)
    return text


def main():
    pick, lines, common = random.Random(int(sys.argv[1])), {}, random.Random(8)
    words = [[word(common, letters) for _ in range(300)] for letters in SCRIPTS]  # which occur again and again
    while len(lines) < 10000:
        made = line(pick, words)
        if made.strip(" \t\n\v\f\r"):
            lines[made] = None
    print("\n".join(lines))


if __name__ == "__main__":
    main()
