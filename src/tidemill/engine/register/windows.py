"""Windows that nobody can want: so many for each row that a unit must be wrong."""

from __future__ import annotations

from tidemill.durations import render_duration
from tidemill.errors import refuse
from tidemill.language.statements import Window

# One row alone is in so many windows, and each of them has an answer. A year every second and a
# day every millisecond are fewer.
MOST_WINDOWS_OF_A_ROW = 100_000_000


def check_windows(window: Window | None) -> None:
    """Refuses those of a query that is new; one that stands in a home goes on."""
    if window is None or window.is_soft:
        return
    range_us = max(window.ranges_us)
    if (count := range_us // window.slide_us) > MOST_WINDOWS_OF_A_ROW:
        range_text, slide_text = render_duration(range_us), render_duration(window.slide_us)
        refuse(
            "E_WINDOW",
            f"each row would be in {count:,} windows: {range_text} every {slide_text}",
            detail=f"each of them has an answer, and at most {MOST_WINDOWS_OF_A_ROW:,} may",
            hint="a longer SLIDE, a shorter RANGE, or SLIDE UP TO for the newest window alone",
            place=window.place,
        )
