"""What an arrangement of scans, feeds and synopses costs the machine per second of stream."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidemill.plan.predicates import Predicate
from tidemill.share.needs import Needs, together
from tidemill.share.sample import Sample
from tidemill.share.weave import VISITS, MachineCosts
from tidemill.windows import WindowSpec, edge_rate

_NS = 1e-9
# Costs are compared thousands of times for a plan, and a hundredth is near enough.
_COUNTED_EDGES = 2**14


@dataclass(frozen=True, eq=False)
class EngineCosts:
    """Estimates from a sample of the stream and the machine's constants."""

    sample: Sample = field(default_factory=Sample)
    machine: MachineCosts = field(default_factory=MachineCosts)
    _rates: dict[frozenset[WindowSpec], float] = field(default_factory=dict)
    _cells: dict[object, float] = field(default_factory=dict)

    def passes(self, feeds: Sequence[Sequence[Needs]]) -> float:
        """Each feed in a pass of its own."""
        return sum(self._scan() + self.feed(needs) for needs in feeds)

    def grouping_sets(self, feeds: Sequence[Sequence[Needs]]) -> float:
        """All feeds in one pass: a row is read once and hashed once for each."""
        rows = self.sample.rows_per_second
        sets = rows * self.machine.set_ns * _NS * (len(feeds) - 1)
        return self._scan() + sets + sum(self.feed(needs) for needs in feeds)

    def feed(self, synopses: Sequence[Needs]) -> float:
        """Partials out of the rows, and the fold of them into each synopsis."""
        return self._rolled(self.cells(together(synopses)), len(synopses))

    def added(self, whole: Needs, synopses: int, in_one_pass: bool = True) -> float:
        """A sub-aggregation beside others, from which so many synopses are rolled up.

        It is made in the pass of the others, if that is allowed and cheaper.
        """
        return self._another(in_one_pass) + self._rolled(self.cells(whole), synopses)

    def least_added(
        self, left: Needs, right: Needs, synopses: int, in_one_pass: bool = True
    ) -> float:
        """What `added` of both is at least: they have no fewer cells than either."""
        cells = max(self.cells(left), self.cells(right))
        return self._another(in_one_pass) + self._rolled(cells, synopses)

    def _another(self, in_one_pass: bool) -> float:
        scan_ns, set_ns = self.machine.scan_ns, self.machine.set_ns
        row_ns = min(scan_ns, set_ns) if in_one_pass else scan_ns
        return self.sample.rows_per_second * row_ns * _NS

    def _rolled(self, cells: float, synopses: int) -> float:
        return cells * (self.machine.partial_ns + self.machine.fold_ns * synopses) * _NS

    def kept(self, needs: Needs) -> float:
        """A synopsis among others, with a sub-aggregation of its own, in the cheaper form."""
        return self.added(needs, 1) + self._cheaper(needs)

    def alone(self, needs: Needs) -> float:
        """The same if there is no other."""
        return self.passes([[needs]]) + self._cheaper(needs)

    def _cheaper(self, needs: Needs) -> float:
        return min(self.signed(needs), self.routed(needs))

    def signed(self, needs: Needs) -> float:
        """A synopsis by signature: its cells, picked out for every predicate that holds."""
        matches = self.sample.matches(needs.predicates, needs.keeps_all) + needs.keeps_all
        # Where no cell is read twice, they are numbered anew and none is copied.
        copied = needs.keeps_all or self.sample.overlap(needs.predicates)
        picked_ns = self.machine.narrow_ns if needs.predicates and copied else 0.0
        read_ns = VISITS * matches * (picked_ns + self.machine.combine_ns)
        return self.cells(needs) * (self.machine.keep_ns + read_ns) * _NS

    def routed(self, needs: Needs) -> float:
        """A synopsis by predicate: a cell handed to each that holds, and kept at its own edges."""
        if not needs.predicates:
            return math.inf
        windows: dict[Predicate, set[WindowSpec]] = {}
        for predicate, spec in needs.asked:
            windows.setdefault(predicate, set()).add(spec)
        cells = sum(self._own_cells(needs, p, frozenset(own)) for p, own in windows.items())
        handed = self.cells(needs) * self.sample.matches(windows, needs.keeps_all)
        kept_ns = self.machine.keep_ns + VISITS * self.machine.combine_ns
        return (cells * kept_ns + handed * self.machine.route_ns) * _NS

    def cells(self, needs: Needs) -> float:
        """Partial rows per second."""
        return self._cells_of(needs.keys, needs.predicates, needs.keeps_all, needs.windows)

    def _own_cells(
        self, needs: Needs, predicate: Predicate, windows: frozenset[WindowSpec]
    ) -> float:
        return self._cells_of(needs.keys, frozenset([predicate]), False, windows)

    def _cells_of(
        self,
        keys: frozenset[str],
        predicates: frozenset[Predicate],
        keeps_all: bool,
        windows: frozenset[WindowSpec],
    ) -> float:
        known = (keys, predicates, keeps_all, windows)
        if known not in self._cells:
            rate = self.edge_rate(windows)
            found = self.sample.cells(sorted(keys), predicates, 1 / rate, keeps_all)
            self._cells[known] = found * rate
        return self._cells[known]

    def edge_rate(self, windows: frozenset[WindowSpec]) -> float:
        if windows not in self._rates:
            self._rates[windows] = float(edge_rate(windows, _COUNTED_EDGES))
        return self._rates[windows]

    def _scan(self) -> float:
        return self.sample.rows_per_second * self.machine.scan_ns * _NS
