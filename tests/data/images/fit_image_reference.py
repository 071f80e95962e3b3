#!/usr/bin/env python3
"""Prints the numbers of fit_image_test.cc: images of a formula, resized by the definition in fractions, without rounding
on the way."""

from fractions import Fraction


def source(height, width):
    return [[[(37 * y + 91 * x + 53 * c + 7 * x * y) % 256 for c in range(3)] for x in range(width)]
            for y in range(height)]


def rounded(x):
    return int(x + Fraction(1, 2))


def grey(pixel):
    return rounded(Fraction(sum(a * b for a, b in zip((19595, 38470, 7471), pixel)), 65536))


def weights(old, new, i):
    """Of the old pixels in new pixel i."""
    scale = Fraction(old, new)
    reach = max(scale, Fraction(1))
    middle = (i + Fraction(1, 2)) * scale
    all_of_them = [max(Fraction(0), 1 - abs(j + Fraction(1, 2) - middle) / reach) for j in range(old)]
    return [w / sum(all_of_them) for w in all_of_them]


def scaled(fit, height, width, wanted):
    if fit == "stretch":
        return wanted, wanted
    side = (min if fit == "crop" else max)(height, width)
    return rounded(Fraction(height * wanted, side)), rounded(Fraction(width * wanted, side))


def fitted(fit, height, width, wanted, channels):
    image = source(height, width)
    new_height, new_width = scaled(fit, height, width, wanted)
    down, across = (new_height - wanted) // 2 if new_height >= wanted else -((wanted - new_height) // 2), \
                   (new_width - wanted) // 2 if new_width >= wanted else -((wanted - new_width) // 2)
    numbers = []
    for c in range(channels):
        for row in range(down, down + wanted):
            for column in range(across, across + wanted):
                if not (0 <= row < new_height and 0 <= column < new_width):
                    numbers.append(0)
                    continue
                by_row, by_column = weights(height, new_height, row), weights(width, new_width, column)
                value = sum(by_row[y] * by_column[x] * (image[y][x][c] if channels == 3 else grey(image[y][x]))
                            for y in range(height) for x in range(width))
                numbers.append(rounded(value))
    return numbers


for case in (("crop", 7, 11, 4, 1), ("crop", 11, 7, 4, 3), ("pad", 7, 12, 6, 1), ("pad", 11, 4, 5, 1),
             ("stretch", 5, 9, 4, 1), ("crop", 2, 3, 5, 1), ("stretch", 3, 8, 5, 1), ("crop", 5, 5, 5, 1)):
    name, *sizes = case
    print(f"{{Fit::k{name.capitalize()}, {', '.join(map(str, sizes))},\n {{{', '.join(map(str, fitted(*case)))}}}}},")
