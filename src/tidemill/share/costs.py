"""Costs of what groups of queries need, in seconds of one core per second of stream."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from tidemill.plan.predicates import Predicate
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import Relation, multiplying
from tidemill.share.model import cut_specs_of
from tidemill.share.sample import Sample
from tidemill.share.weave import VISITS, MachineCosts
from tidemill.windows import WindowSpec, edge_rate

_NS = 1e-9
# Costs are compared thousands of times for a plan, and a hundredth is near enough.
_COUNTED_EDGES = 2**14


@dataclass(frozen=True)
class Needs:
    """Partials per (slice, keys, signature) of one relation."""

    relation: Relation  # with just those tables that change the number of rows
    keys: frozenset[str]
    predicates: frozenset[Predicate]
    keeps_all: bool
    windows: frozenset[WindowSpec]
    # The windows that each predicate is asked for with, where that is known.
    predicate_windows: frozenset[tuple[Predicate, WindowSpec]] = frozenset()

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            self.relation,
            self.keys | other.keys,
            self.predicates | other.predicates,
            self.keeps_all or other.keeps_all,
            self.windows | other.windows,
            self.predicate_windows | other.predicate_windows,
        )


def needs_of(queries: Sequence[QueryPlan]) -> Needs:
    """The needs of queries that have one relation."""
    first = queries[0]
    predicates = {query.predicate for query in queries}
    return Needs(
        multiplying(first.relation),
        frozenset(key.scalar.sql for query in queries for key in query.keys),
        frozenset(p for p in predicates if not p.is_true and not p.is_false),
        any(predicate.is_true for predicate in predicates),
        frozenset(spec for query in queries for spec in cut_specs_of(query)),
        frozenset((query.predicate, spec) for query in queries for spec in cut_specs_of(query)),
    )


def united_needs(needs: Iterable[Needs]) -> Needs:
    """The needs of several groups of one relation, as those of one."""
    return reduce(Needs.__or__, needs)


@dataclass(frozen=True, eq=False)
class EngineCosts:
    """Estimates from a sample of the stream and the machine's constants."""

    sample: Sample = field(default_factory=Sample)
    machine: MachineCosts = field(default_factory=MachineCosts)
    _rates: dict[frozenset[WindowSpec], float] = field(default_factory=dict)
    _cells: dict[object, float] = field(default_factory=dict)

    def cost_of_passes(self, feeds: Sequence[Sequence[Needs]]) -> float:
        """The cost when each feed has a pass of its own."""
        return sum(self._cost_of_scan() + self.cost_of_feed(needs) for needs in feeds)

    def cost_of_grouping_sets(self, feeds: Sequence[Sequence[Needs]]) -> float:
        """The cost of all feeds in one pass: a row is read once and hashed once for each."""
        rows = self.sample.rows_per_second
        sets = rows * self.machine.set_ns * _NS * (len(feeds) - 1)
        return self._cost_of_scan() + sets + sum(self.cost_of_feed(needs) for needs in feeds)

    def cost_of_feed(self, synopses: Sequence[Needs]) -> float:
        """The cost of making partials from rows and folding them into each synopsis."""
        return self._cost_of_roll_up(self.cells_per_second(united_needs(synopses)), len(synopses))

    def cost_of_added_feed(self, needs: Needs, synopses: int, in_one_pass: bool = True) -> float:
        """The cost of a sub-aggregation beside others, with so many synopses rolled up from it.

        It is made in the pass of the others, if that is allowed and cheaper.
        """
        return self._cost_of_reading_again(in_one_pass) + self._cost_of_roll_up(
            self.cells_per_second(needs), synopses
        )

    def least_cost_of_added_feed(
        self, left: Needs, right: Needs, synopses: int, in_one_pass: bool = True
    ) -> float:
        """A lower bound of `cost_of_added_feed` of both, which have no fewer cells than either."""
        cells = max(self.cells_per_second(left), self.cells_per_second(right))
        return self._cost_of_reading_again(in_one_pass) + self._cost_of_roll_up(cells, synopses)

    def _cost_of_reading_again(self, in_one_pass: bool) -> float:
        scan_ns, set_ns = self.machine.scan_ns, self.machine.set_ns
        row_ns = min(scan_ns, set_ns) if in_one_pass else scan_ns
        return self.sample.rows_per_second * row_ns * _NS

    def _cost_of_roll_up(self, cells: float, synopses: int) -> float:
        return cells * (self.machine.partial_ns + self.machine.fold_ns * synopses) * _NS

    def cost_of_synopsis(self, needs: Needs) -> float:
        """The cost of a synopsis beside others: its own sub-aggregation, and the cheaper cells."""
        return self.cost_of_added_feed(needs, 1) + self._cost_of_cells(needs)

    def cost_alone(self, needs: Needs) -> float:
        """The cost of a synopsis if there is no other, with a pass of its own."""
        return self.cost_of_passes([[needs]]) + self._cost_of_cells(needs)

    def _cost_of_cells(self, needs: Needs) -> float:
        return min(self.cost_by_signature(needs), self.cost_by_predicate(needs))

    def cost_by_signature(self, needs: Needs) -> float:
        """The cost of cells by signature, picked out for every predicate that holds."""
        matches = self.sample.matches(needs.predicates, needs.keeps_all) + needs.keeps_all
        # Where no cell is read twice, they are numbered anew and none is copied.
        copied = needs.keeps_all or self.sample.overlap(needs.predicates)
        picked_ns = self.machine.narrow_ns if needs.predicates and copied else 0.0
        read_ns = VISITS * matches * (picked_ns + self.machine.combine_ns)
        return self.cells_per_second(needs) * (self.machine.keep_ns + read_ns) * _NS

    def cost_by_predicate(self, needs: Needs) -> float:
        """The cost of cells by predicate: handed to each that holds, kept at its own edges."""
        if not needs.predicates:
            return math.inf
        windows: dict[Predicate, set[WindowSpec]] = {}
        for predicate, spec in needs.predicate_windows:
            windows.setdefault(predicate, set()).add(spec)
        cells = sum(
            self._cells_of_predicate(needs, p, frozenset(specs)) for p, specs in windows.items()
        )
        handed = self.cells_per_second(needs) * self.sample.matches(windows, needs.keeps_all)
        kept_ns = self.machine.keep_ns + VISITS * self.machine.combine_ns
        return (cells * kept_ns + handed * self.machine.route_ns) * _NS

    def cells_per_second(self, needs: Needs) -> float:
        """Partial rows per second."""
        return self._cells_of(needs.keys, needs.predicates, needs.keeps_all, needs.windows)

    def _cells_of_predicate(
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
        group = (keys, predicates, keeps_all, windows)
        if group not in self._cells:
            rate = self.edge_rate(windows)
            per_slice = self.sample.cells(sorted(keys), predicates, 1 / rate, keeps_all)
            self._cells[group] = per_slice * rate
        return self._cells[group]

    def edge_rate(self, windows: frozenset[WindowSpec]) -> float:
        if windows not in self._rates:
            self._rates[windows] = float(edge_rate(windows, _COUNTED_EDGES))
        return self._rates[windows]

    def _cost_of_scan(self) -> float:
        return self.sample.rows_per_second * self.machine.scan_ns * _NS
