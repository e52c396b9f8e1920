"""One sliding window as the user wrote it: how long, how often, from where.

Window k is the half-open span `[start_us + k * slide_us, … + range_us)` for every integer k,
before 1970 as well as after. This is the anchoring of Spark's `window()`.

>>> WindowSpec(range_us=12, slide_us=9).first_start_after(10)
18
>>> print(WindowSpec(60_000_000, 10_000_000, 500_000))
RANGE 60 s SLIDE 10 s START 0.5 s
"""

from __future__ import annotations

from dataclasses import dataclass

# 2^60 µs is about 36,000 years. With ranges, slides and times below it, every sum in the
# vectorised code stays inside 64 bits.
LONGEST_US = 2**60


@dataclass(frozen=True)
class WindowSpec:
    """Range, slide and anchor of a window; cannot be built with a span that has no meaning."""

    range_us: int
    slide_us: int
    start_us: int = 0

    def __post_init__(self) -> None:
        for name in ("range_us", "slide_us"):
            if not 0 < getattr(self, name) <= LONGEST_US:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be 1 to {LONGEST_US}")
        if abs(self.start_us) >= self.slide_us:
            raise ValueError(
                f"start_us is {self.start_us}; its size must be below the slide, {self.slide_us}"
            )

    @property
    def overlap(self) -> int:
        """The most windows any one instant belongs to."""
        return -(-self.range_us // self.slide_us)

    def window_start(self, k: int) -> int:
        return self.start_us + k * self.slide_us

    def first_start_after(self, t_us: int) -> int:
        """Start of the first window that begins after the instant."""
        return self.window_start((t_us - self.start_us) // self.slide_us + 1)

    def __str__(self) -> str:
        start = f" START {_seconds(self.start_us)}" if self.start_us else ""
        return f"RANGE {_seconds(self.range_us)} SLIDE {_seconds(self.slide_us)}{start}"


def _seconds(span_us: int) -> str:
    sign = "-" if span_us < 0 else ""
    whole, rest_us = divmod(abs(span_us), 1_000_000)
    fraction = f".{rest_us:06d}".rstrip("0") if rest_us else ""
    return f"{sign}{whole}{fraction} s"
