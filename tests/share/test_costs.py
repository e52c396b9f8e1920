"""What the engine's model counts: rows, cells, and the conditions that hold for them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.share.shared import KEYS, ROWS, costs, query
from tidemill.share import EngineCosts, Sample
from tidemill.share.costs import Needs, needs_of
from tidemill.share.weave import VISITS, MachineCosts

RATE = 1_000.0
ALIKE = [query(0, where="n = 1"), query(1, where="n = 2"), query(2)]


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


def test_cells_are_picked_only_for_conditions_that_hold() -> None:
    few, needs = sampled({"n = 1": 1.0, "n = 2": 1.0, "n = 3": 0.0, "n = 4": 0.0})
    all_of, _ = sampled({"n = 1": 1.0, "n = 2": 1.0, "n = 3": 1.0, "n = 4": 1.0})
    machine = few.machine
    assert all_of.cells_per_second(needs) == pytest.approx(few.cells_per_second(needs))
    added = all_of.cost_by_signature(needs) - few.cost_by_signature(needs)
    picked_ns = 2 * VISITS * (machine.narrow_ns + machine.combine_ns)
    assert added == pytest.approx(few.cells_per_second(needs) * picked_ns * 1e-9)


def test_cells_that_nobody_reads_twice_are_not_copied() -> None:
    found, needs = sampled({"n = 1": 1.0, "n = 2": 0.0})
    kept_ns = found.machine.keep_ns + VISITS * found.machine.combine_ns
    assert found.cost_by_signature(needs) == pytest.approx(
        found.cells_per_second(needs) * kept_ns * 1e-9
    )


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
    assert found.cost_by_predicate(needs) < found.cost_by_signature(needs)
    one = needs_of(queries[:1])
    assert found.cost_by_signature(one) < found.cost_by_predicate(one)
