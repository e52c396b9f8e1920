"""Windows, edges and closings in the plainest way: try every window, keep what fits.

Nothing is imported from `windows`, so that one mistake cannot be made twice.

>>> windows_of(10, range_us=12, slide_us=9)
[(0, 12), (9, 21)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

Span = tuple[int, int]


def windows_near(
    low_us: int, high_us: int, range_us: int, slide_us: int, start_us: int = 0
) -> Iterator[Span]:
    """Every window that touches `[low_us, high_us]`, and a few more on either side."""
    first = (low_us - range_us) // slide_us - 2
    last = high_us // slide_us + 2
    for k in range(first, last + 1):
        yield start_us + k * slide_us, start_us + k * slide_us + range_us


def windows_of(t_us: int, range_us: int, slide_us: int, start_us: int = 0) -> list[Span]:
    """The windows that hold the instant."""
    near = windows_near(t_us, t_us, range_us, slide_us, start_us)
    return [(begin, end) for begin, end in near if begin <= t_us < end]


def edges_of(specs: Iterable[tuple[int, int, int]], low_us: int, high_us: int) -> list[int]:
    """Starts and ends in `[low_us, high_us)` of the windows (range, slide, start)."""
    bounds = {
        bound
        for range_us, slide_us, start_us in specs
        for span in windows_near(low_us, high_us, range_us, slide_us, start_us)
        for bound in span
    }
    return sorted(bound for bound in bounds if low_us <= bound < high_us)


def closed_by(
    spec: tuple[int, int, int], slices: Sequence[Span], after_us: int | None, until_us: int
) -> list[int]:
    """Starts of the windows that contain a whole slice and end in `(after_us, until_us]`."""
    return sorted(
        {
            begin
            for low_us, high_us in slices
            for begin, end in windows_near(low_us, high_us, *spec)
            if begin <= low_us
            and high_us <= end <= until_us
            and (after_us is None or after_us < end)
        }
    )
