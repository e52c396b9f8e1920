"""The instants of a query over several windows: all windows end there, whatever their lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import NoReturn

from tidemill.durations import render_duration
from tidemill.errors import refuse
from tidemill.language.statements import Window

_MOST_SHOWN = 4


@dataclass(frozen=True)
class NamedWindow:
    """A window as the query writes it; one that is `counted` may be the longest of the query."""

    name: str
    window: Window
    counted: bool = True

    @property
    def ends_us(self) -> int:
        """Where windows end, within a slide."""
        return (self.window.start_us + self.window.range_us) % self.window.slide_us


@dataclass(frozen=True)
class Instants:
    """The window whose ends are the instants."""

    leading: Window

    def window(self, written: Window) -> Window:
        """A window of the text, with slide and start such that it ends there too."""
        lead, range_us = self.leading, written.range_us
        start_us = lead.start_us
        if not lead.is_soft and range_us != lead.range_us:
            start_us = (lead.start_us + lead.range_us - range_us) % lead.slide_us
        return replace(lead, range_us=range_us, start_us=start_us, place=written.place)


def instants_of(windows: Sequence[NamedWindow]) -> Instants:
    """The instants that windows have in common; those that say SLIDE must agree."""
    for named in windows:
        if named.window.other_ranges_us:
            refuse(
                "E_NOT_BUILT",
                "several lengths of a window that is joined are not built yet",
                hint="write one query for each length",
                place=named.window.place,
            )
    sliding = [named for named in windows if not named.window.is_soft]
    late = [named for named in windows if named.window.is_soft and named.window.slide_us]
    if sliding and late:
        _refuse_apart(sliding[0], late[0])
    leaders = sliding or late or list(windows)
    first = leaders[0]
    for other in leaders[1:]:
        if other.window.slide_us != first.window.slide_us:
            _refuse_apart(first, other)
        if sliding and other.ends_us != first.ends_us:
            _refuse_apart(first, other)
    return Instants(first.window)


def longest_window(windows: Sequence[NamedWindow]) -> Window:
    """The longest window of FROM, whose start is that of an answer."""
    counted = (named.window for named in windows if named.counted)
    return max(counted, key=lambda window: window.range_us)


def _refuse_apart(first: NamedWindow, other: NamedWindow) -> NoReturn:
    refuse(
        "E_WINDOW",
        f"the windows of {first.name} and {other.name} end at different instants",
        detail="\n".join(ends_of((first, other))),
        hint=f"leave SLIDE and START out of one: {other.name} then ends where {first.name} does",
        place=other.window.place,
    )


def ends_of(windows: Sequence[NamedWindow]) -> list[str]:
    """The first ends of each window after midnight, on one line each."""
    width = max(len(named.name) for named in windows)
    return [f"{named.name:<{width}}  {_ends(named)}" for named in windows]


def _ends(named: NamedWindow) -> str:
    window = named.window
    if window.is_soft:
        return f"ends at updates, at most {render_duration(window.slide_us)} apart"
    ends = (named.ends_us + n * window.slide_us for n in range(_MOST_SHOWN))
    shown = ", ".join(render_duration(end) if end else "0" for end in ends)
    return f"ends every {render_duration(window.slide_us)}: at {shown}, …"


def common_update(updates_us: Sequence[int]) -> int:
    """The time between two updates that all streams have; 0 if there is none."""
    slowest = max(updates_us)
    return slowest if all(gcd(update, slowest) == update for update in updates_us) else 0
