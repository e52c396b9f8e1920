"""Reports of a runner: of a tick its counts and seconds, of a look at the source what it met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tidemill.connect.sources import AnySource, Position


@dataclass(frozen=True)
class TickReport:
    """The figures of one tick, for progress and metrics."""

    stream: str
    tick: int
    rows_in: int
    rows_late: int
    rows_malformed: int
    answers: Mapping[str, int]
    watermark_us: int | None
    seconds: float
    phases: Mapping[str, float] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    route: str = ""  # who made the partials
    rows_corrected: int = 0


@dataclass(frozen=True)
class Look:
    """What was met when a source was looked at for input the last time.

    `input_us` is when there was some, by the clock of who looked.
    """

    has_input: bool = False
    input_us: int | None = None
    has_ended: bool = False
    coming: str = ""  # what cannot be taken yet
    failure: str = ""
    held_by: str = ""  # the stream that has to come as far before more is taken

    def at(self, source: AnySource, position: Position) -> Look:
        """With what the source has to say of it."""
        sight, has_ended = source.sight(), source.has_ended(position)
        return replace(self, has_ended=has_ended, coming=sight.coming, failure=sight.failure)


NO_LOOK = Look()
