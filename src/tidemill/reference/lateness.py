"""The rows that are late, by the rule as it is written, looking at every earlier row anew.

The slow twin of `time.arrivals` and of all that judges rows by it.

>>> late_rows([[10, 50], [38, 41], [30, None]], lateness_us=10)
[[False, False], [True, False], [True, False]]
"""

from __future__ import annotations

from collections.abc import Sequence

Times = Sequence[int | None]


def late_rows(
    arrivals: Sequence[Times], lateness_us: int, promised_us: int | None = None
) -> list[list[bool]]:
    """For each row of each arrival, whether it is late; one without a time is not."""
    verdicts = []
    for number, times in enumerate(arrivals):
        earlier = [time for arrival in arrivals[:number] for time in arrival if time is not None]
        promises = [] if promised_us is None else [promised_us]
        promises += [time - lateness_us for time in earlier]
        verdicts.append([time is not None and any(time < p for p in promises) for time in times])
    return verdicts
