"""Costs of what groups of queries need, in seconds of one core per second of stream.

What a cell costs depends on its lanes and on how often ticks come back to it (`cell_work.py`);
how many cells there are is told by the sample of the stream.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from tidemill.aggregates import ROWS, Lane
from tidemill.plan.predicates import Predicate
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import Relation, multiplying
from tidemill.share.costs.cell_work import (
    LaneWork,
    longest_seconds,
    opened_pieces,
    reads_per_cell,
)
from tidemill.share.costs.sample import GUESSED_VALUES, Occurrences, Sample
from tidemill.share.model import cut_specs_of, lanes_of
from tidemill.share.weave import CellCosts, MachineCosts
from tidemill.windows import WindowSpec, edge_rate

_NS = 1e-9
_US_PER_SECOND = 1_000_000
_MANY_ROWS = 1e6
# Costs are compared thousands of times for a plan, and a hundredth is near enough.
_COUNTED_EDGES = 2**14
# A tick writes live cells anew once it has so many pieces for each bucket (`snapshot_pieces`).
_TICKS_TO_SNAPSHOT = 12


@dataclass(frozen=True)
class Needs:
    """Partials per (slice, keys, signature) of one relation."""

    relation: Relation  # with just those tables that change the number of rows
    keys: frozenset[str]
    predicates: frozenset[Predicate]
    keeps_all: bool
    windows: frozenset[WindowSpec]
    # The windows that each predicate is asked for with; only the price of cells asks for them.
    predicate_windows: frozenset[tuple[Predicate, WindowSpec]] = frozenset()
    lanes: frozenset[Lane] = frozenset([ROWS])
    routed: bool = False  # cells are kept by predicate

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            self.relation,
            self.keys | other.keys,
            self.predicates | other.predicates,
            self.keeps_all or other.keeps_all,
            self.windows | other.windows,
            self.predicate_windows | other.predicate_windows,
            self.lanes | other.lanes,
            self.routed or other.routed,
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
        frozenset([ROWS, *(lane for query in queries for lane in lanes_of(query))]),
    )


def united_needs(needs: Iterable[Needs]) -> Needs:
    """The needs of several groups of one relation, as those of one."""
    return reduce(Needs.__or__, needs)


# The cells of one sub-aggregation or synopsis: keys, predicates, whether all rows are kept.
CellSet = tuple[frozenset[str], frozenset[Predicate], bool]


@dataclass(frozen=True, eq=False)
class EngineCosts:
    """Estimates from a sample of the stream and the machine's constants."""

    sample: Sample = field(default_factory=Sample)
    machine: MachineCosts = field(default_factory=MachineCosts)
    # What is asked again and again for one plan.
    _rates: dict[frozenset[WindowSpec], float] = field(default_factory=dict, init=False)
    _reads: dict[frozenset[WindowSpec], float] = field(default_factory=dict, init=False)
    _opened: dict[frozenset[WindowSpec], float] = field(default_factory=dict, init=False)
    _ticks: dict[frozenset[WindowSpec], float] = field(default_factory=dict, init=False)
    _spreads: dict[CellSet, Occurrences] = field(default_factory=dict, init=False)
    _cells: dict[tuple[CellSet, frozenset[WindowSpec]], float] = field(
        default_factory=dict, init=False
    )
    _matches: dict[tuple[frozenset[Predicate], bool], float] = field(
        default_factory=dict, init=False
    )
    _overlaps: dict[frozenset[Predicate], bool] = field(default_factory=dict, init=False)
    _made_ready: dict[tuple[frozenset[tuple[Predicate, WindowSpec]], float], float] = field(
        default_factory=dict, init=False
    )
    _work: dict[frozenset[Lane], LaneWork] = field(default_factory=dict, init=False)
    _routed: dict[tuple[object, ...], tuple[float, CellCosts, float]] = field(
        default_factory=dict, init=False
    )

    def cost_of_passes(self, feeds: Sequence[Sequence[Needs]]) -> float:
        """The cost when each feed has a pass of its own."""
        return sum(
            self._cost_of_scan(united_needs(needs).lanes) + self.cost_of_feed(needs)
            for needs in feeds
        )

    def cost_of_grouping_sets(self, feeds: Sequence[Sequence[Needs]]) -> float:
        """The cost of all feeds in one pass: a row is read once and hashed once for each."""
        lanes = frozenset().union(*(each.lanes for needs in feeds for each in needs))
        sets = self._per_second(self.machine.set_ns + self.work(lanes).row_ns) * (len(feeds) - 1)
        return self._cost_of_scan(lanes) + sets + sum(map(self.cost_of_feed, feeds))

    def cost_of_feed(self, synopses: Sequence[Needs]) -> float:
        """The cost of making partials from rows and folding them into each synopsis."""
        root = united_needs(synopses)
        rolled_up = self._cost_of_roll_up(root, self.cells_per_second(root), len(synopses))
        return rolled_up + self.cost_of_finer_cells(root, synopses)

    def cost_of_finer_cells(self, root: Needs, synopses: Iterable[Needs]) -> float:
        """What handing out costs beyond that of each synopsis's own cells.

        Those of a sub-aggregation that serves others too are cut by their conditions and edges.
        """
        return sum(self._cost_of_handing_more(root, needs) for needs in synopses if needs.routed)

    def _cost_of_handing_more(self, root: Needs, needs: Needs) -> float:
        finer_set = needs.keys, root.predicates, root.keeps_all
        share, all_share = (self._spread(cells).share for cells in (_cell_set(needs), finer_set))
        passing = self._cells_of(finer_set, root.windows) * (share / all_share if share else 0.0)
        more = max(0.0, passing - self.cells_per_second(needs))
        holding = self._holding(needs.predicates, needs.keeps_all) + needs.keeps_all
        return more * holding * self._handed_ns(needs, passing) * _NS

    def _handed_ns(self, needs: Needs, cells: float) -> float:
        """One of so many cells a second handed to one predicate: its lanes are put together."""
        lanes_ns = self.work_of(needs, cells).fold_ns - self.machine.fold_ns
        return self.machine.route_ns + lanes_ns

    def cost_of_added_feed(self, needs: Needs, synopses: int, in_one_pass: bool = True) -> float:
        """The cost of a sub-aggregation beside others, with so many synopses rolled up from it.

        It is made in the pass of the others, if that is allowed and cheaper.
        """
        again = self._cost_of_reading_again(needs.lanes, in_one_pass)
        return again + self._cost_of_roll_up(needs, self.cells_per_second(needs), synopses)

    def least_cost_of_added_feed(
        self, left: Needs, right: Needs, synopses: int, in_one_pass: bool = True
    ) -> float:
        """A lower bound of `cost_of_added_feed` of both, which have no fewer cells than either."""
        cells, wider = max(
            ((self.cells_per_second(needs), needs) for needs in (left, right)),
            key=lambda pair: pair[0],
        )
        again = self._cost_of_reading_again(wider.lanes, in_one_pass)
        bare = replace(wider, lanes=frozenset([ROWS]))
        return again + self._cost_of_roll_up(bare, cells, synopses)

    def _cost_of_reading_again(self, lanes: frozenset[Lane], in_one_pass: bool) -> float:
        scan_ns, set_ns = self.machine.scan_ns, self.machine.set_ns
        row_ns = min(scan_ns, set_ns) if in_one_pass else scan_ns
        return self._per_second(row_ns + self.work(lanes).row_ns)

    def _cost_of_roll_up(self, needs: Needs, cells: float, synopses: int) -> float:
        work = self.work_of(needs, cells)
        return cells * (work.partial_ns + work.fold_ns * synopses) * _NS

    def cost_of_intercede(self, fed_by: Needs, needs: Needs) -> float:
        """The cost of folding the cells of a sub-aggregation into one synopsis more."""
        cells = self.cells_per_second(fed_by)
        return cells * self.work_of(needs, cells).fold_ns * _NS

    def cost_of_synopsis(self, needs: Needs) -> float:
        """The cost of a synopsis beside others: its own sub-aggregation, and the cheaper cells."""
        return self.cost_of_added_feed(needs, 1) + self.cost_of_cells(needs)

    def cost_alone(self, needs: Needs) -> float:
        """The cost of a synopsis if there is no other, with a pass of its own."""
        return self.cost_of_passes([[needs]]) + self.cost_of_cells(needs)

    def cost_of_cells(self, needs: Needs) -> float:
        """The cost of keeping and reading them, by signature or by predicate."""
        by_signature = self.cost_by_signature(needs)
        return min(by_signature, self.cost_by_predicate(needs, by_signature))

    def is_routing_cheaper(self, needs: Needs) -> bool:
        by_signature = self.cost_by_signature(needs)
        return self.cost_by_predicate(needs, by_signature) < by_signature

    def cost_by_signature(self, needs: Needs) -> float:
        """The cost of cells by signature, picked out for every predicate with windows due."""
        cells = self.cells_per_second(needs)
        is_copied = needs.keeps_all or self._overlap(needs.predicates)
        # Where no cell is read twice, they are numbered anew and none is copied.
        picked_ns = self.machine.narrow_ns if needs.predicates and is_copied else 0.0
        work = self.work_of(needs, cells)
        ready_ns = self._times_made_ready(needs) * (picked_ns + work.combine_ns)
        state_ns = self._written_ns(needs, work) + self.reads(needs.windows) * work.read_ns
        probed = self._cost_of_all_probes(needs, work)
        return cells * (state_ns + ready_ns) * _NS + self.cost_of_pieces(needs) + probed

    def cost_by_predicate(self, needs: Needs, limit: float = math.inf) -> float:
        """The cost of cells by predicate: handed to each that holds, kept at its own edges.

        What reaches the limit is not worked out to the end.
        """
        if not needs.predicates:
            return math.inf
        windows = _by_predicate(needs)
        reads = self.reads(needs.windows)
        partials = self.cells_per_second(needs)
        handed = partials * self._holding(frozenset(windows), needs.keeps_all)
        cost = handed * self._handed_ns(needs, partials) * _NS + self.cost_of_pieces(needs)
        cost += len(windows) * self.machine.home_ns / self.sample.tick_seconds * _NS
        for predicate, specs in windows.items():
            if cost >= limit:
                break
            cells, work, probes = self._routed_cells(needs, predicate, specs)
            read_ns = reads * work.read_ns + self.reads(specs) * work.combine_ns
            cost += cells * (self._written_ns(needs, work) + read_ns) * _NS + probes
        return cost

    def _routed_cells(
        self, needs: Needs, predicate: Predicate, windows: frozenset[WindowSpec]
    ) -> tuple[float, CellCosts, float]:
        """Of one predicate: cells a second, what each takes, and what the merges cost."""
        key = needs.keys, predicate, windows, needs.lanes
        if key not in self._routed:
            cells = self._cells_of((needs.keys, frozenset([predicate]), False), windows)
            work = self.work_of(needs, cells)
            slices = self.edge_rate(windows)
            probes = self._cost_of_probes(needs.keys, work, predicate, windows, slices)
            self._routed[key] = cells, work, probes
        return self._routed[key]

    def _times_made_ready(self, needs: Needs) -> float:
        """How often a cell is laid out for windows: by each predicate that holds for its rows, in
        the ticks in which windows of that predicate are due."""
        share = self._spread(_cell_set(needs)).share
        key = needs.predicate_windows, share
        if key not in self._made_ready:
            rows = sum(
                self.sample.share(predicate) * self.reads(windows)
                for predicate, windows in _by_predicate(needs).items()
            )
            self._made_ready[key] = rows / share if share else 0.0
        return self._made_ready[key]

    def cost_of_pieces(self, needs: Needs) -> float:
        """What a synopsis costs a tick, however few cells: a piece written, and others opened."""
        seconds, windows = self.sample.tick_seconds, needs.windows
        if windows not in self._opened:
            self._opened[windows] = opened_pieces(windows, seconds)
        open_ns = self.work(needs.lanes).open_ns
        pieces_ns = self.machine.piece_ns + self._opened[windows] * open_ns
        return pieces_ns / seconds * _NS

    def _written_ns(self, needs: Needs, work: CellCosts) -> float:
        """A cell written by its tick, and with the snapshots that are made while it is kept.

        For a snapshot cells are read, those of one place put together as for windows, and written.
        """
        again_ns = work.read_ns + work.combine_ns + work.keep_ns
        return work.keep_ns + self._ticks_kept(needs.windows) / _TICKS_TO_SNAPSHOT * again_ns

    def _ticks_kept(self, windows: frozenset[WindowSpec]) -> float:
        if windows not in self._ticks:
            self._ticks[windows] = longest_seconds(windows) / self.sample.tick_seconds
        return self._ticks[windows]

    def _cost_of_all_probes(self, needs: Needs, work: CellCosts) -> float:
        if not work.probe_ns:
            return 0.0
        slices = self.edge_rate(needs.windows)
        return sum(
            self._cost_of_probes(needs.keys, work, predicate, windows, slices)
            for predicate, windows in _by_predicate(needs).items()
        )

    def _cost_of_probes(
        self,
        keys: frozenset[str],
        work: CellCosts,
        predicate: Predicate,
        windows: frozenset[WindowSpec],
        slices: float,
    ) -> float:
        """The merges that windows of so many slices a second take where there is no subtraction:
        two for each doubling."""
        if not work.probe_ns:
            return 0.0
        ranges, slides = (
            np.array([getattr(spec, name) for spec in windows], np.float64) / _US_PER_SECOND
            for name in ("range_us", "slide_us")
        )
        spread = self._spread((keys, frozenset([predicate]), False))
        groups = spread.cells(ranges * self.sample.rows_per_second)
        merges = 2 * np.log2(np.maximum(1.0, slices * ranges))
        return float((groups / slides * merges).sum()) * work.probe_ns * _NS

    def work(self, lanes: frozenset[Lane], rows_each: float = 1.0) -> CellCosts:
        """What a cell with these lanes takes, of so many rows."""
        if lanes not in self._work:
            self._work[lanes] = LaneWork.of(self.machine, lanes, self._values)
        return self._work[lanes].of_rows(rows_each)

    def work_of(self, needs: Needs, cells: float) -> CellCosts:
        """What each of so many cells a second takes."""
        rows = self.sample.rows_per_second * self._spread(_cell_set(needs)).share
        return self.work(needs.lanes, rows / cells if cells else 1.0)

    def _values(self, lane: Lane) -> float:
        """How many different values the argument of a lane has."""
        if lane.argument is None or lane.argument.sql not in self.sample.keys:
            return float(GUESSED_VALUES)
        column = self._spread((frozenset([lane.argument.sql]), frozenset(), True))
        return float(column.cells(np.array([_MANY_ROWS]))[0])

    def _holding(self, predicates: frozenset[Predicate], keeps_all: bool) -> float:
        """How many predicates hold for a row that is kept."""
        key = predicates, keeps_all
        if key not in self._matches:
            self._matches[key] = self.sample.matches(*key)
        return self._matches[key]

    def _overlap(self, predicates: frozenset[Predicate]) -> bool:
        """Whether some cell is read for several."""
        if predicates not in self._overlaps:
            self._overlaps[predicates] = self.sample.overlap(predicates)
        return self._overlaps[predicates]

    def reads(self, windows: frozenset[WindowSpec]) -> float:
        """How many ticks read a cell."""
        if windows not in self._reads:
            self._reads[windows] = reads_per_cell(windows, self.sample.tick_seconds)
        return self._reads[windows]

    def cells_per_second(self, needs: Needs) -> float:
        """Partial rows per second."""
        return self._cells_of(_cell_set(needs), needs.windows)

    def _cells_of(self, cell_set: CellSet, windows: frozenset[WindowSpec]) -> float:
        key = cell_set, windows
        if key not in self._cells:
            rate = self.edge_rate(windows)
            rows = np.array([self.sample.rows_per_second / rate])
            self._cells[key] = float(self._spread(cell_set).cells(rows)[0]) * rate
        return self._cells[key]

    def _spread(self, cell_set: CellSet) -> Occurrences:
        if cell_set not in self._spreads:
            keys, predicates, keeps_all = cell_set
            self._spreads[cell_set] = self.sample.spread(sorted(keys), predicates, keeps_all)
        return self._spreads[cell_set]

    def edge_rate(self, windows: frozenset[WindowSpec]) -> float:
        if windows not in self._rates:
            self._rates[windows] = float(edge_rate(windows, _COUNTED_EDGES))
        return self._rates[windows]

    def _cost_of_scan(self, lanes: frozenset[Lane]) -> float:
        return self._per_second(self.machine.scan_ns + self.work(lanes).row_ns)

    def _per_second(self, row_ns: float) -> float:
        return self.sample.rows_per_second * row_ns * _NS


def _by_predicate(needs: Needs) -> dict[Predicate, frozenset[WindowSpec]]:
    """The windows that are asked for of the rows of each predicate."""
    windows: dict[Predicate, set[WindowSpec]] = {}
    for predicate, spec in needs.predicate_windows:
        if not predicate.is_false:
            windows.setdefault(predicate, set()).add(spec)
    return {predicate: frozenset(specs) for predicate, specs in windows.items()}


def _cell_set(needs: Needs) -> CellSet:
    return needs.keys, needs.predicates, needs.keeps_all
