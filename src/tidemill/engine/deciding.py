"""Step 4 of a tick: how far time has come, which windows that closes, what may be dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidemill.catalog import Stream
from tidemill.engine.folding import Reports, accounts
from tidemill.engine.records import Decision, TickRecord
from tidemill.engine.surroundings import Surroundings
from tidemill.plan.model import QueryPlan
from tidemill.schedule import Due, Run, Specs, due_windows, oldest_needed
from tidemill.share import specs_of
from tidemill.synopsis.model import Synopsis
from tidemill.synopsis.store import Version, needs_snapshot
from tidemill.windows import WindowSpec

# A flush closes everything; no window ends after this.
END_OF_TIME_US = 2**62


class Deciding:
    def __init__(self, around: Surroundings, stream: Stream) -> None:
        self._around, self._stream = around, stream
        self._readers = {
            key: _Readers.of(around.plan.readers_of(synopsis))
            for key, synopsis in around.synopses_of(stream).items()
        }

    def decide(self, record: TickRecord, reports: Reports, version: Version) -> Decision:
        """`version` is the store with the tick's own pieces added."""
        before = record.time.watermark_us
        after = record.time.advanced(accounts(reports).newest_us, self._stream.lateness_us)
        until = END_OF_TIME_US if record.flush else after.watermark_us
        if until is None:
            return Decision(after, reports)
        due = tuple(
            one
            for key, readers in self._readers.items()
            for one in self._due(
                readers, due_windows(readers.specs, version.slices(key), before, until)
            )
        )
        if record.flush:
            after = after.flushed(max((one.last_end_us for one in due), default=None))
        return Decision(after, reports, due)

    def horizon(self, synopsis: Synopsis, decision: Decision) -> int:
        """Slices that start before this are of no more use after the tick."""
        watermark = decision.time.watermark_us
        if watermark is None:
            return -END_OF_TIME_US
        return oldest_needed(self._readers[synopsis.id].specs, watermark)

    def compacts(self, synopsis: Synopsis, decision: Decision, version: Version) -> bool:
        """Whether this tick writes what is live as one snapshot per bucket."""
        horizon = self.horizon(synopsis, decision)
        live = tuple(p for p in version.of(synopsis.id) if p.last_us >= horizon)
        most = self._around.settings.snapshot_pieces * self._around.buckets
        return needs_snapshot(live, horizon, most)

    def _due(self, readers: _Readers, runs: list[list[Run]]) -> Iterator[Due]:
        """Windows that begin before a query's first are not its own: it missed rows of them."""
        for query, numbers in zip(readers.queries, readers.numbers, strict=True):
            first_us = self._around.queries[query.name].first_start_us
            for number in numbers:
                spec = readers.specs.specs[number]
                for run in runs[number]:
                    own = run if first_us is None else _from(run, spec, first_us)
                    if own.windows > 0:
                        yield Due(query.name, spec.range_us, spec.slide_us, *own)


@dataclass(frozen=True)
class _Readers:
    """The queries of a synopsis, their distinct windows, and which of those each has."""

    queries: tuple[QueryPlan, ...]
    specs: Specs
    numbers: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(queries: tuple[QueryPlan, ...]) -> _Readers:
        specs = [specs_of(query) for query in queries]
        distinct = {
            spec: n for n, spec in enumerate(dict.fromkeys(s for own in specs for s in own))
        }
        numbers = tuple(tuple(distinct[spec] for spec in own) for own in specs)
        return _Readers(queries, Specs.of(distinct), numbers)


def _from(run: Run, spec: WindowSpec, first_us: int) -> Run:
    """The part of a run that begins at or after the instant."""
    skipped = max(0, -((run.first_us - first_us) // spec.slide_us))
    return Run(run.first_us + skipped * spec.slide_us, run.windows - skipped)
