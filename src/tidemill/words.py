"""Numbers, times and tables in words, everywhere alike.

>>> span(90_000_000), span(300_000_000), span(1_500_000)
('90 s', '5 min', '1.5 s')
>>> many(1, "query"), many(1200, "synopsis")
('1 query', '1,200 synopses')
>>> work(0.0123), work(0.0000456)
('12.3 ms', '0.0456 ms')
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

COLUMNS = 100
_UNITS_US = (("h", 3_600_000_000), ("min", 60_000_000))
_PLURALS = {
    "query": "queries",
    "row query": "row queries",
    "synopsis": "synopses",
    "pass": "passes",
}


def many(number: int, word: str) -> str:
    return f"{number:,} {word if number == 1 else _PLURALS.get(word, word + 's')}"


def span(span_us: int) -> str:
    """In the largest unit that counts it in whole numbers; seconds otherwise."""
    for unit, size_us in _UNITS_US:
        if span_us % size_us == 0:
            return f"{span_us // size_us} {unit}"
    return f"{span_us / 1_000_000:g} s"


def instant(t_us: int) -> str:
    """ISO 8601 in UTC, by way of NumPy: Python's dates end with the year 9999."""
    return np.datetime_as_string(np.datetime64(t_us, "us")).rstrip("0").rstrip(".") + "Z"


def work(seconds: float) -> str:
    """Time of one core per second of stream."""
    return f"{seconds * 1000:.3g} ms"


def rows(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.2g}"


def wrapped(head: str, items: Sequence[str], most: int | None = None, between: str = ", ") -> str:
    """The items after a head, in as many lines as it takes; those after `most` are counted."""
    shown = list(items if most is None or len(items) <= most else items[:most])
    if len(shown) < len(items):
        shown.append(f"and {len(items) - len(shown):,} more")
    # Items stay whole: their own blanks are not where a line may end.
    text = between.join(item.replace(" ", "\0") for item in shown)
    lines = textwrap.wrap(
        text,
        COLUMNS,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(line.replace("\0", " ") for line in lines) or head.rstrip()


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Left-aligned columns under their names."""
    if not rows:
        return f"{header[0]}: none"
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, tuple("─" * width for width in widths), *rows]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
