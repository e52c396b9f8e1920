"""How the sources of streams stand: what has come, how far time is, and whom they hold back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidemill.catalog import Stream
from tidemill.engine.tick.journal import StreamState
from tidemill.engine.tick.report import NO_LOOK, Look
from tidemill.engine.waits.looks import LookAt
from tidemill.engine.waits.queries import Standing
from tidemill.language.names import Name
from tidemill.time import Register


@dataclass(frozen=True)
class SourceReport:
    """A source as it stands after its last tick."""

    source: str
    state: str  # busy, idle, held, writing, never begun, done, broken, unread
    since_us: int | None  # when there was input the last time, of one that is idle
    rows: int
    rows_per_second: float | None
    newest_us: int | None
    watermark_us: int | None
    word: str | None  # whose promise the watermark is
    late: int
    corrected: int
    broken: int  # of late and corrected rows the ones that were promised not to come
    malformed: int
    holds_back: tuple[str, ...]  # queries
    trouble: str = ""


def source_reports(
    streams: Iterable[Stream], standing: Standing, look_at: LookAt
) -> Iterator[SourceReport]:
    """A report for each stream that has rows of its own.

    Who is busy holds nobody back: what waits for it is answered in its time.
    """
    waiting: dict[Name, list[str]] = {}
    for query, wait in standing.waits().items():
        waiting.setdefault(wait.source, []).append(query.written)
    for stream in streams:
        state, is_read = standing.streams[stream.key], stream.key in standing.plan.streams
        look = look_at(stream, state) if is_read else NO_LOOK
        name = state_of(state, look, is_read)
        yield SourceReport(
            source=stream.name,
            state=name,
            since_us=look.input_us if name == "idle" else None,
            rows=state.rows_in,
            rows_per_second=state.rate.rows_per_second,
            newest_us=state.time.newest_us,
            watermark_us=state.time.watermark_us,
            word=whose_promise(state.time, stream.lateness_us),
            late=state.rows_late,
            corrected=state.rows_corrected,
            broken=state.rows_broken,
            malformed=state.rows_malformed,
            holds_back=() if name == "busy" else tuple(waiting.get(stream.key, ())),
            trouble=look.failure or _waits_for(look.held_by) or look.coming,
        )


def state_of(state: StreamState, look: Look, is_read: bool) -> str:
    """A failure comes before all else, then whether rows can come and have come."""
    if look.failure:
        return "broken"
    if not is_read:
        return "unread"
    if look.held_by:
        return "held"
    if look.has_ended:
        return "done"
    if not look.has_input and look.coming:
        return "writing"
    if not state.rows_in:
        return "never begun"
    return "busy" if look.has_input else "idle"


def _waits_for(laggard: str) -> str:
    return f"waits for {laggard}, which is behind" if laggard else ""


def whose_promise(time: Register, lateness_us: int) -> str | None:
    """Whose promise the watermark is; None before there is one.

    >>> whose_promise(Register(newest_us=9, promised_us=7), lateness_us=2)
    'lateness'
    >>> whose_promise(Register(newest_us=9, promised_us=12, word="skew"), lateness_us=2)
    'skew'
    """
    if time.promised_us is None:
        return None
    if time.word:
        return time.word
    # Ticks of earlier versions did not note it.
    is_by_rows = time.newest_us is not None and time.promised_us <= time.newest_us - lateness_us
    return "lateness" if is_by_rows else "promise"
