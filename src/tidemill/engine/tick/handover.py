"""A stream's part in handovers: what it sets aside for others to read, and what it has taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidemill.catalog import Stream
from tidemill.catalog.addresses import HANDED
from tidemill.connect.handovers import HandoverLedger
from tidemill.engine.tick.journal import TickRecord
from tidemill.language.names import Name
from tidemill.scan.contract import FOLDERS, FoldReport, side_file
from tidemill.share import SharedPlan


@dataclass
class TickHandover:
    """Hands over side files that somebody reads, and forgets handovers that have been taken."""

    ledger: HandoverLedger
    stream: Stream
    sides: Mapping[int, Name]  # by verdict, those that are read
    _handed_files: list[Path] = field(default_factory=list)

    @staticmethod
    def of(ledger: HandoverLedger, stream: Stream, plan: SharedPlan) -> TickHandover:
        return TickHandover(ledger, stream, sides_read(stream.key, plan))

    def sweep(self, next_tick: int) -> None:
        """Remove what no commit names; the tick to come may have written its files already."""
        for side in self.sides.values():
            self.ledger.sweep(side, {side_file(next_tick)})

    def record(self, record: TickRecord, folded: FoldReport) -> None:
        """Within the transaction of the commit."""
        for verdict, side in self.sides.items():
            if rows := folded.aside.get(verdict):
                self.ledger.add(side, [side_file(record.number)], rows)
        if self.stream.source.scheme == HANDED and record.mark is not None:
            self._handed_files = self.ledger.remove(self.stream.key, record.mark)

    def remove(self) -> None:
        """After the commit."""
        for path in self._handed_files:
            path.unlink(missing_ok=True)
        self._handed_files = []


def sides_read(stream: Name, plan: SharedPlan) -> dict[int, Name]:
    """By verdict, the streams of what a stream sets aside, as far as queries read them."""
    sides = {verdict: Name(f"{stream}.{side}") for verdict, side in FOLDERS.items()}
    return {verdict: side for verdict, side in sides.items() if side in plan.streams}
