"""What the engine's model counts: rows, cells, lanes, and how often a tick comes back to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.queries import plan_of
from tests.share.shared import KEYS, ROWS, costs, query
from tidemill.aggregates import CostFamily
from tidemill.plan.query import QueryPlan
from tidemill.share import EngineCosts, Sample
from tidemill.share.costs import Needs, needs_of
from tidemill.share.costs.cell_work import reads_per_cell
from tidemill.share.weave import ARRAY_COSTS, CellCosts, MachineCosts
from tidemill.windows import WindowSpec

RATE = 1_000.0
ALIKE = [query(0, where="n = 1"), query(1, where="n = 2"), query(2)]
SECOND_US = 1_000_000


def sampled(shares: dict[str, float]) -> tuple[EngineCosts, Needs]:
    """Queries on the same keys, each with a condition that so many of the rows satisfy."""
    queries = [query(n, where=where) for n, where in enumerate(shares)]
    row = np.arange(ROWS)
    bits = {q.predicate: row < p * ROWS for q, p in zip(queries, shares.values(), strict=True)}
    return EngineCosts(Sample(RATE, ROWS, KEYS, bits)), needs_of(queries)


def test_a_synopsis_more_costs_what_another_cell_for_a_row_does() -> None:
    needs, machine = needs_of(ALIKE), MachineCosts()
    saved = costs(RATE).cost_alone(needs) - costs(RATE).cost_of_synopsis(needs)
    assert saved == pytest.approx(RATE * (machine.scan_ns - machine.set_ns) * 1e-9)


def test_cells_are_made_ready_as_often_as_windows_of_their_condition_are_due() -> None:
    """Not as often as those of all: of a hundred conditions few are due in a short tick."""
    often, seldom = "RANGE 10 s SLIDE 1 s", "RANGE 60 s SLIDE 60 s"
    queries = [query(0, where="n = 1", window=often), query(1, where="n = 2", window=seldom)]
    row = np.arange(ROWS)
    bits = {queries[0].predicate: row < ROWS / 5, queries[1].predicate: row >= ROWS / 5}
    found = EngineCosts(Sample(RATE, ROWS, KEYS, bits, rows_per_tick=RATE))
    needs = needs_of(queries)
    reads = [found.reads(each.windows) for each in map(needs_of, zip(queries, strict=True))]
    assert reads[0] > 5 * reads[1]
    dearer = replace(found, machine=replace(found.machine, combine_ns=1e6))
    more_ns = 1e6 - found.machine.combine_ns
    for price, cells in (
        (EngineCosts.cost_by_signature, [found.cells_per_second(needs) * n for n in (0.2, 0.8)]),
        (EngineCosts.cost_by_predicate, [found.cells_per_second(needs_of([q])) for q in queries]),
    ):
        # In the sixty ticks that a cell is kept, five snapshots put it together as well.
        added = sum(n * (times + 5) for n, times in zip(cells, reads, strict=True))
        assert price(dearer, needs) - price(found, needs) == pytest.approx(added * more_ns * 1e-9)


def test_a_condition_that_cells_are_handed_to_costs_something_in_every_tick() -> None:
    found, needs = sampled({"n = 1": 1.0, "n = 2": 0.5, "n = 3": 0.0})
    dearer = replace(found, machine=replace(found.machine, home_ns=found.machine.home_ns + 1e6))
    added = dearer.cost_by_predicate(needs) - found.cost_by_predicate(needs)
    assert added == pytest.approx(3 * 1e-3 / found.sample.tick_seconds)
    assert dearer.cost_by_signature(needs) == found.cost_by_signature(needs)


def test_cells_are_picked_only_for_conditions_that_hold() -> None:
    few, needs = sampled({"n = 1": 1.0, "n = 2": 1.0, "n = 3": 0.0, "n = 4": 0.0})
    all_of, _ = sampled({"n = 1": 1.0, "n = 2": 1.0, "n = 3": 1.0, "n = 4": 1.0})
    machine = few.machine
    cells = few.cells_per_second(needs)
    assert all_of.cells_per_second(needs) == pytest.approx(cells)
    added = all_of.cost_by_signature(needs) - few.cost_by_signature(needs)
    picked_ns = machine.narrow_ns + few.work_of(needs, cells).combine_ns
    assert added == pytest.approx(cells * 2 * few.reads(needs.windows) * picked_ns * 1e-9)


def test_cells_that_nobody_reads_twice_are_not_copied() -> None:
    found, needs = sampled({"n = 1": 1.0, "n = 2": 0.0})
    copied = replace(found, machine=replace(found.machine, narrow_ns=1e9))
    assert copied.cost_by_signature(needs) == found.cost_by_signature(needs)


def test_rows_that_nobody_keeps_do_not_thin_out_the_conditions() -> None:
    """Of the rows that are kept, half satisfy both conditions."""
    found, needs = sampled({"n = 1": 0.5, "n = 2": 0.25})
    assert found.sample.matches(needs.predicates) == pytest.approx(0.75)
    assert found.sample.matches(needs.predicates, keeps_all=False) == pytest.approx(1.5)


def test_routing_is_for_conditions_that_hold_together_at_edges_of_their_own() -> None:
    windows = [f"RANGE {60 + 7 * n} s SLIDE {31 + 2 * n} s" for n in range(8)]
    queries = [query(n, where=f"n > {n}", window=window) for n, window in enumerate(windows)]
    bits = {one.predicate: np.ones(ROWS, dtype=np.bool_) for one in queries}
    found, needs = EngineCosts(Sample(RATE, ROWS, KEYS, bits)), needs_of(queries)
    assert found.is_routing_cheaper(needs)
    assert not found.is_routing_cheaper(needs_of(queries[:1]))
    # In ticks of ten rows the conditions cost more than the cells.
    short = EngineCosts(replace(found.sample, rows_per_tick=10.0))
    assert not short.is_routing_cheaper(needs)


def test_what_is_handed_out_by_condition_grows_with_those_of_others() -> None:
    """One sub-aggregation for both has cells for every set of conditions, at the edges of all."""
    found, routed = sampled({"n = 1": 1.0, "n = 2": 1.0})
    others, own = sampled({"n = 1": 0.5, "n = 3": 0.5})[1], replace(routed, routed=True)
    assert found.cost_of_feed([own]) == pytest.approx(found.cost_of_feed([routed]))
    assert found.cost_of_feed([own, others]) > 1.01 * found.cost_of_feed([routed, others])


def test_a_tick_that_answers_opens_the_files_of_the_ticks_before() -> None:
    """Of windows of ten minutes there are always some, and two of three ticks answer."""
    needs, usual = needs_of([asking("SUM(n)")]), costs(RATE)
    dearer = replace(usual, machine=replace(usual.machine, open_ns=usual.machine.open_ns + 1e6))
    added = dearer.cost_by_signature(needs) - usual.cost_by_signature(needs)
    assert added == pytest.approx(2 / 3 * 12 * 1e-3 / usual.sample.tick_seconds)


def asking(item: str, number: int = 0) -> QueryPlan:
    window = "RANGE 600 s SLIDE 60 s"
    return plan_of(number, f"SELECT k, {item} AS c FROM s [{window}] GROUP BY k")


ITEMS = {
    "SUM(n)": CostFamily.NUMBERS,
    "MAX(n)": CostFamily.EXTREMES,
    "STDDEV(n)": CostFamily.RECORDS,
    "MEDIAN(n)": CostFamily.VALUES,
    "APPROX_COUNT_DISTINCT(n)": CostFamily.SKETCHES,
}


@pytest.mark.parametrize(("item", "family"), ITEMS.items())
@pytest.mark.parametrize("figure", ["row_ns", "fold_ns", "keep_ns", "read_ns", "combine_ns"])
def test_a_cell_costs_what_its_lanes_do(item: str, family: CostFamily, figure: str) -> None:
    """Where one family's figure is dearer, just the queries that have such lanes are."""
    dear = replace(ARRAY_COSTS.lanes[family], **{figure: 1e6})
    machine = replace(ARRAY_COSTS, lanes={**ARRAY_COSTS.lanes, family: dear})
    usual, dearer = (EngineCosts(Sample(RATE, ROWS, KEYS), m) for m in (ARRAY_COSTS, machine))
    for other in ITEMS:
        needs = needs_of([asking(other)])
        rises = dearer.cost_alone(needs) > 2 * usual.cost_alone(needs)
        assert rises == (other == item)


@pytest.mark.parametrize(("item", "merges"), [("SUM(n)", False), ("SUM(CAST(n AS DOUBLE))", True)])
def test_merges_are_paid_for_only_where_there_is_no_subtraction(item: str, merges: bool) -> None:
    lanes = {family: CellCosts(probe_ns=1e6) for family in CostFamily}
    machine = replace(ARRAY_COSTS, lanes=lanes)
    needs = needs_of([asking(item)])
    without = replace(machine, lanes={family: CellCosts() for family in CostFamily})
    with_probes, free = (
        EngineCosts(Sample(RATE, ROWS, KEYS), m).cost_by_signature(needs)
        for m in (machine, without)
    )
    assert (with_probes > free) == merges


def test_values_cost_by_how_many_different_ones_a_cell_has() -> None:
    """Cells of a longer slice have more rows, so more values, up to all there are."""
    found = costs(RATE)
    lanes = needs_of([asking("MEDIAN(n)")]).lanes
    one, some, many, all_ = (found.work(lanes, rows).combine_ns for rows in (1, 10, 1e4, 1e6))
    assert one < some < many
    assert many == pytest.approx(all_, rel=0.01)
    values = ARRAY_COSTS.lanes[CostFamily.VALUES].combine_ns
    assert all_ == pytest.approx(ARRAY_COSTS.combine_ns + 100 * values, rel=0.01)


def spec(range_s: int, slide_s: int) -> WindowSpec:
    return WindowSpec(range_s * SECOND_US, slide_s * SECOND_US)


def counted_reads(windows: list[WindowSpec], tick_s: int, ticks: int = 5_000) -> float:
    """Tick by tick: from the start of the first window that is due to the end of the last."""
    read_us = 0
    for tick in range(1_000, 1_000 + ticks):
        low, high = tick * tick_s * SECOND_US, (tick + 1) * tick_s * SECOND_US
        due = [
            (end - w.range_us, end)
            for w in windows
            for end in range(low + (w.range_us - low) % w.slide_us, high, w.slide_us)
        ]
        if due:
            read_us += max(end for _, end in due) - min(start for start, _ in due)
    return read_us / (ticks * tick_s * SECOND_US)


@given(st.integers(1, 300), st.integers(1, 90), st.integers(1, 60))
def test_reads_of_one_window_are_those_of_ticks(range_s: int, slide_s: int, tick_s: int) -> None:
    found = reads_per_cell([spec(range_s, slide_s)], float(tick_s))
    counted = counted_reads([spec(range_s, slide_s)], tick_s)
    # Of a slide that does not divide the tick, now one window more is due and now one less.
    assert found == pytest.approx(counted, rel=0.05, abs=slide_s / tick_s)


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 90)), min_size=2, max_size=5))
def test_windows_together_are_read_no_more_often_than_apart_and_no_less_than_one(pairs) -> None:
    windows = [spec(*pair) for pair in pairs]
    each = [reads_per_cell([window], 5.0) for window in windows]
    assert max(each) - 1e-9 <= reads_per_cell(windows, 5.0) <= sum(each) + 1e-9


def test_short_ticks_come_back_to_a_cell_more_often() -> None:
    minute = [spec(60, 5)]
    assert reads_per_cell(minute, 5.0) > 4 * reads_per_cell(minute, 60.0)
