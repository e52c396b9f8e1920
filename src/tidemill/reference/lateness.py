"""The rows that are late, by the rule as it is written, looking at every earlier row anew.

The slow twin of `time.arrivals` and of all that judges rows by it.

>>> late_rows([[10, 50], [38, 41], [30, None]], lateness_us=10)
[[False, False], [True, False], [True, False]]
>>> late_rows([[10, 50], [38, 41], [30, None]], lateness_us=10, correct_us=5)
[[False, False], [False, False], [True, False]]
"""

from __future__ import annotations

from collections.abc import Sequence

Times = Sequence[int | None]
Marks = list[list[bool]]  # of each row of each arrival


def late_rows(
    arrivals: Sequence[Times],
    lateness_us: int,
    promised_us: int | None = None,
    correct_us: int = 0,
) -> Marks:
    """For each row of each arrival, whether it is late; one without a time is not."""
    verdicts = []
    for number, times in enumerate(arrivals):
        earlier = [time for arrival in arrivals[:number] for time in arrival if time is not None]
        promises = [] if promised_us is None else [promised_us]
        promises += [time - lateness_us for time in earlier]
        verdicts.append(
            [time is not None and any(time < p - correct_us for p in promises) for time in times]
        )
    return verdicts


def correcting_rows(
    arrivals: Sequence[Times], lateness_us: int, promised_us: int | None, correct_us: int
) -> Marks:
    """For each row, whether it would be late if no row corrected, and counts all the same."""
    untimely = late_rows(arrivals, lateness_us, promised_us)
    late = late_rows(arrivals, lateness_us, promised_us, correct_us)
    return [
        [u and not v for u, v in zip(*rows, strict=True)]
        for rows in zip(untimely, late, strict=True)
    ]
