"""What an arrangement of scans, feeds and synopses costs the machine per second of stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidemill.share.needs import Needs, together
from tidemill.share.sample import Sample
from tidemill.share.weave import MachineCosts
from tidemill.windows import WindowSpec, edge_rate

_NS = 1e-9
# How often a tick comes back to a cell before it expires, for each predicate read from it.
_VISITS = 3.0


@dataclass(frozen=True, eq=False)
class EngineCosts:
    """Estimates from a sample of the stream and the machine's constants."""

    sample: Sample = field(default_factory=Sample)
    machine: MachineCosts = field(default_factory=MachineCosts)
    _rates: dict[frozenset[WindowSpec], float] = field(default_factory=dict)
    _cells: dict[Needs, float] = field(default_factory=dict)

    def passes(self, feeds: Sequence[Sequence[Needs]]) -> float:
        """Each feed in a pass of its own."""
        return sum(self._scan() + self.feed(needs) for needs in feeds)

    def grouping_sets(self, feeds: Sequence[Sequence[Needs]]) -> float:
        """All feeds in one pass: a row is read once and hashed once for each."""
        rows = self.sample.rows_per_second
        sets = rows * self.machine.set_ns * _NS * (len(feeds) - 1)
        return self._scan() + sets + sum(self.feed(needs) for needs in feeds)

    def feed(self, synopses: Sequence[Needs]) -> float:
        """Partials out of Catalyst, and the fold of them into each synopsis."""
        cells = self.cells(together(synopses))
        made = cells * (self.machine.partial_ns + self.machine.fold_ns)
        rolled = cells * self.machine.fold_ns * (len(synopses) - 1)
        return (made + rolled) * _NS

    def synopsis(self, needs: Needs) -> float:
        """What it costs to keep, and to read every predicate's part of it."""
        readings = len(needs.predicates) + needs.keeps_all if needs.predicates else 0
        visits = readings * _VISITS * self.machine.narrow_ns
        return self.cells(needs) * (self.machine.combine_ns + visits) * _NS

    def kept(self, needs: Needs) -> float:
        """A synopsis with a pass of its own."""
        return self.passes([[needs]]) + self.synopsis(needs)

    def cells(self, needs: Needs) -> float:
        """Partial rows per second."""
        if needs not in self._cells:
            rate = self.edge_rate(needs.windows)
            found = self.sample.cells(needs.keys, needs.predicates, 1 / rate, needs.keeps_all)
            self._cells[needs] = found * rate
        return self._cells[needs]

    def edge_rate(self, windows: frozenset[WindowSpec]) -> float:
        if windows not in self._rates:
            self._rates[windows] = float(edge_rate(windows))
        return self._rates[windows]

    def _scan(self) -> float:
        return self.sample.rows_per_second * self.machine.scan_ns * _NS
