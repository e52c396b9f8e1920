"""Step 4 of a tick: how far time has come, which windows that closes, what may be dropped."""

from __future__ import annotations

from collections.abc import Iterator

from tidemill.catalog import Stream
from tidemill.engine.records import Decision, TickRecord
from tidemill.engine.surroundings import Surroundings
from tidemill.schedule import Due, due_windows, oldest_needed
from tidemill.share import specs_of
from tidemill.spark.fold import FoldReport
from tidemill.synopsis.model import Synopsis
from tidemill.synopsis.store import Version, needs_snapshot

# A flush closes everything; no window ends after this.
END_OF_TIME_US = 2**62


class Deciding:
    def __init__(self, around: Surroundings, stream: Stream) -> None:
        self._around, self._stream = around, stream
        self._synopses = around.synopses_of(stream)

    def decide(self, record: TickRecord, folded: FoldReport, version: Version) -> Decision:
        """`version` is the store with the tick's own pieces added."""
        before = record.time.watermark_us
        after = record.time.advanced(folded.newest_us, self._stream.lateness_us)
        until = END_OF_TIME_US if record.flush else after.watermark_us
        if until is None:
            return Decision(after, folded)
        found = (
            self._due(synopsis, version, before, until) for synopsis in self._synopses.values()
        )
        due = tuple(one for some in found for one in some if one.starts)
        if record.flush:
            last_end = max((one.starts[-1] + one.range_us for one in due), default=None)
            after = after.flushed(last_end)
        return Decision(after, folded, due)

    def horizon(self, synopsis: Synopsis, decision: Decision) -> int:
        """Slices that start before this are of no more use after the tick."""
        watermark = decision.time.watermark_us
        if watermark is None:
            return -END_OF_TIME_US
        readers = self._around.plan.readers_of(synopsis)
        return oldest_needed((spec for query, _ in readers for spec in specs_of(query)), watermark)

    def compacts(self, synopsis: Synopsis, decision: Decision, version: Version) -> bool:
        """Whether this tick writes what is live as one snapshot per bucket."""
        horizon = self.horizon(synopsis, decision)
        live = tuple(p for p in version.of(synopsis.id) if p.last_us >= horizon)
        most = self._around.settings.snapshot_pieces * self._around.buckets
        return needs_snapshot(live, horizon, most)

    def _due(
        self, synopsis: Synopsis, version: Version, after_us: int | None, until_us: int
    ) -> Iterator[Due]:
        slices = version.slices(synopsis.id)
        ends = synopsis.cuts.ends(slices)
        for query, stint in self._around.plan.readers_of(synopsis):
            if query.name.lower() in self._around.paused:
                continue
            for spec in specs_of(query):
                starts = due_windows(spec, slices, ends, after_us, until_us)
                mine = starts[(starts >= stint.from_us) & (starts < stint.until_us)]
                yield Due(query.name, synopsis.id, spec.range_us, tuple(mine.tolist()))
