"""What a test found wrong. It goes on after a complaint, so that one run shows all of them."""

MOST_SHOWN = 20


class Skipped(Exception):
    """There is something missing on this machine that the test needs."""


class Complaints(list):
    def show(self) -> None:
        for complaint in self[:MOST_SHOWN]:
            print(f"  {complaint}")
        if len(self) > MOST_SHOWN:
            print(f"  … and {len(self) - MOST_SHOWN} more")


complaints = Complaints()


def expect(holds: bool, complaint: str) -> bool:
    if not holds:
        complaints.append(complaint)
    return bool(holds)


def expect_equal(found, expected, what: str) -> bool:
    return expect(found == expected, f"{what}: {found!r}, expected {expected!r}")


def is_near(a: float, b: float, tolerance: float) -> bool:
    """Relative to the larger of them and 1; equal infinities are near."""
    return a == b or (a != a and b != b) or abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def expect_near(found: float, expected: float, tolerance: float, what: str) -> bool:
    return expect(is_near(found, expected, tolerance), f"{what}: {found!r}, expected {expected!r}")
