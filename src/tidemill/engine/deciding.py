"""Step 4 of a tick: how far time has come, which windows that closes, what may be dropped."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tidemill.catalog import Stream
from tidemill.engine.folding import Reports, accounts
from tidemill.engine.records import Decision, TickRecord
from tidemill.engine.surroundings import Surroundings
from tidemill.plan.model import QueryPlan
from tidemill.schedule import Due, due_windows, oldest_needed
from tidemill.share import spec_of
from tidemill.synopsis.model import Synopsis
from tidemill.synopsis.store import Version, needs_snapshot

# A flush closes everything; no window ends after this.
END_OF_TIME_US = 2**62


class Deciding:
    def __init__(self, around: Surroundings, stream: Stream) -> None:
        self._around, self._stream = around, stream
        self._synopses = around.synopses_of(stream)
        self._queries = around.queries_of(stream)

    def decide(self, record: TickRecord, reports: Reports, version: Version) -> Decision:
        """`version` is the store with the tick's own pieces added."""
        before = record.time.watermark_us
        after = record.time.advanced(accounts(reports).newest_us, self._stream.lateness_us)
        until = END_OF_TIME_US if record.flush else after.watermark_us
        if until is None:
            return Decision(after, reports)
        slices = {key: version.slices(key) for key in self._synopses}
        due = [self._due(query, slices, before, until) for query in self._queries]
        if record.flush:
            after = after.flushed(self._last_end(due))
        return Decision(after, reports, tuple(one for one in due if one.starts))

    def horizon(self, synopsis: Synopsis, decision: Decision) -> int:
        """Slices that start before this are of no more use after the tick."""
        watermark = decision.time.watermark_us
        if watermark is None:
            return -END_OF_TIME_US
        readers = self._around.plan.readers_of(synopsis)
        return oldest_needed(map(spec_of, readers), watermark)

    def compacts(self, synopsis: Synopsis, decision: Decision, version: Version) -> bool:
        """Whether this tick writes what is live as one snapshot per bucket."""
        horizon = self.horizon(synopsis, decision)
        live = tuple(p for p in version.of(synopsis.id) if p.last_us >= horizon)
        most = self._around.settings.snapshot_pieces * self._around.buckets
        return needs_snapshot(live, horizon, most)

    def _due(
        self,
        query: QueryPlan,
        slices: Mapping[str, NDArray[np.int64]],
        after_us: int | None,
        until_us: int,
    ) -> Due:
        synopsis = self._around.plan.synopsis_of(query.name)
        starts = due_windows(
            spec_of(query),
            synopsis.classes,
            slices[synopsis.id],
            after_us,
            until_us,
            self._around.queries[query.name].first_start_us,
        )
        return Due(query.name, tuple(starts.tolist()))

    def _last_end(self, due: list[Due]) -> int | None:
        """End of the last window that is answered: how far a flush moves the watermark."""
        ranges = {query.name: query.window.range_us for query in self._queries}
        return max((one.starts[-1] + ranges[one.query] for one in due if one.starts), default=None)
