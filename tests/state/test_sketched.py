"""Windows of sketches in either layout: the same answers, whatever the cells are like."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.aggregates.estimating import call_of, lane_of, told
from tidemill.aggregates.merging import objects
from tidemill.aggregates.sketches import KllLane, SketchLane
from tidemill.state.layouts.bundles import CellLayout, lay_out_cells
from tidemill.state.sketched.rows import Reader, SketchRows, SketchRuns

CALLS = [
    "APPROX_COUNT_DISTINCT(big, 0.1)",
    "APPROX_COUNT_DISTINCT(big, 0.1, 'theta')",
    "APPROX_PERCENTILE(x, 0.9, 0.1)",
    "APPROX_COUNT(big, 7, 0.1)",
    "APPROX_TOP_K(big, 3, 0.1)",
]
SLICES, GROUPS = 12, 4
# Windows that overlap, windows with gaps between them, and one that is empty.
WINDOWS = [(0, 5), (2, 7), (4, 9), (0, 2), (5, 7), (10, 12), (0, 12), (3, 3)]
Found = dict[tuple[int, int], Any]


def sketch_of(lane: SketchLane, rng: random.Random) -> Any:
    """NULL, of few values, or of more than it can hold."""
    family: Any = lane.family
    count = rng.choice((0, 3, 20, 2000))
    values = sorted(set(rng.choices(range(5000), k=count)))
    if not values:
        return None
    made = (
        family.of(np.array(values, np.float64))
        if isinstance(lane, KllLane)
        else family.make(values, [rng.randrange(1, 5) for _ in values])
    )
    return family.to_bytes(made)


def asked(call: Any, runs: SketchRuns) -> list[Any]:
    if call.function == "APPROX_TOP_K":
        return list(runs.most_frequent(call).to_pylist())
    found = runs.estimates(call)
    columns = (found.value, found.low, found.high, found.is_known)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def by_layout(sql: str, rows: list[tuple[int, int, Any]], layout: CellLayout) -> Found:
    """By window and group; a lane is asked for as a whole, and at some cells."""
    at, group = (np.array([row[part] for row in rows], np.int64) for part in (0, 1))
    given = SketchRows(
        Reader(lane_of(sql), objects([row[2] for row in rows])), np.arange(len(rows))
    )
    lo, hi = np.array(WINDOWS).T
    laid = lay_out_cells(at, group, GROUPS, SLICES, lo, hi, [given], layout)
    found: Found = {}
    for block in laid.blocks(lo, hi):
        shape = block.shape
        window, mine = (
            np.broadcast_to(numbers, shape).ravel() for numbers in (block.window, block.group)
        )
        whole, some = block.lane(0), block.at(np.arange(len(window))[::2]).lane(0)
        assert isinstance(whole, SketchRuns)
        assert isinstance(some, SketchRuns)
        told = asked(call_of(sql), whole)
        assert asked(call_of(sql), some) == told[::2]
        found |= dict(zip(zip(window.tolist(), mine.tolist(), strict=True), told, strict=True))
    return found


@pytest.mark.parametrize("sql", CALLS)
@pytest.mark.parametrize("seed", range(8))
def test_both_layouts_answer_alike(sql: str, seed: int) -> None:
    rng = random.Random(seed)
    # Some cells have several rows, of pieces that have not been folded into one.
    rows = [
        (rng.randrange(SLICES), rng.randrange(GROUPS), sketch_of(lane_of(sql), rng))
        for _ in range(60)
    ]
    dense, sparse = (by_layout(sql, rows, layout) for layout in ("dense", "sparse"))
    held = {
        (number, group)
        for number, (lo, hi) in enumerate(WINDOWS)
        for at, group, _ in rows
        if lo <= at < hi
    }
    assert set(sparse) == held
    assert {pair: dense[pair] for pair in held} == sparse
    if sql == CALLS[-1]:
        return
    for number, group in held:
        lo, hi = WINDOWS[number]
        cells = [state for at, mine, state in rows if lo <= at < hi and mine == group]
        (alone,) = told(sql, cells, [(0, len(cells))])
        value = sparse[number, group]
        assert alone == (value[:3] if value[3] else None)
