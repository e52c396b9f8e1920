"""Windows over bags: what the sweeps find is what counting anew would."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidemill.aggregates import Bags, bags
from tidemill.aggregates.functions.percentile import plain_percentile
from tidemill.state.layouts.bag_runs import Runs, SortedBags
from tidemill.state.layouts.cell_runs import RunMatrix
from tidemill.state.loops import ranks as rank_loops

VALUES = st.integers(0, 40) | st.sampled_from((-(2**62), 2**62))
Cell = dict[int, int]


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Cell], list[tuple[int, int]]]:
    """Cells and runs of them, some empty, some the same."""
    cells = draw(st.lists(st.dictionaries(VALUES, st.integers(1, 5), max_size=6), max_size=12))
    bounds = st.tuples(st.integers(0, len(cells)), st.integers(0, len(cells)))
    found = draw(st.lists(bounds.map(lambda ends: (min(ends), max(ends))), max_size=12))
    return cells, found


def bags_of(cells: list[Cell], dtype: Any = np.int64) -> Bags:
    rows = [(value, count) for cell in cells for value, count in cell.items()]
    values = pa.array([value for value, _ in rows], pa.int64())
    whole = bags.from_rows(values, np.array([[count for _, count in rows]], dtype).reshape(1, -1))
    end = np.cumsum([len(cell) for cell in cells], dtype=np.int64)
    begin = end - np.array([len(cell) for cell in cells], dtype=np.int64)
    return Bags(begin, end, whole.codes, whole.weights, whole.dictionary)


def asked(cells: list[Cell], bounds: list[tuple[int, int]], dtype: Any = np.int64) -> Runs:
    first, last = np.array(bounds, np.int64).reshape(-1, 2).T
    return Runs(SortedBags(bags_of(cells, dtype)), first, last)


def counted(cells: list[Cell], bounds: tuple[int, int]) -> Counter[int]:
    found: Counter[int] = Counter()
    for cell in cells[slice(*bounds)]:
        found.update(cell)
    return found


@given(runs())
def test_distinct_and_total_equal_counting(drawn: tuple[list[Cell], list[tuple[int, int]]]) -> None:
    cells, bounds = drawn
    wanted = [counted(cells, one) for one in bounds]
    assert asked(cells, bounds).distinct().tolist() == [len(one) for one in wanted]
    assert asked(cells, bounds).total().tolist() == [one.total() for one in wanted]


@given(runs(), st.floats(0, 1))
def test_percentiles_equal_sorting(
    drawn: tuple[list[Cell], list[tuple[int, int]]], fraction: float
) -> None:
    cells, bounds = drawn
    found = asked(cells, bounds)
    numbers = np.asarray(found.dictionary.to_numpy(), np.float64)
    values, known = found.percentile(fraction, numbers)
    for one, value, is_known in zip(bounds, values.tolist(), known.tolist(), strict=True):
        whole = sorted(counted(cells, one).elements())
        assert is_known == bool(whole)
        if whole:
            assert value == plain_percentile(whole, fraction)


@given(runs(), st.integers(1, 5), st.sampled_from((np.int64, np.float64)))
def test_picked_values_equal_sorting(
    drawn: tuple[list[Cell], list[tuple[int, int]]], most: int, dtype: Any
) -> None:
    cells, bounds = drawn
    for by_weight in (True, False):
        found = asked(cells, bounds, dtype)
        picked = found.pick(most, by_weight)
        values = found.dictionary.take(pa.array(picked.codes)).to_pylist()
        mine = list(zip(values, picked.weights[0].tolist(), strict=True))
        for number, one in enumerate(bounds):
            wanted = sorted(counted(cells, one).items())
            if by_weight:
                wanted.sort(key=lambda pair: -pair[1])
            low, high = picked.offsets[number : number + 2]
            assert mine[low:high] == wanted[:most]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=12))
def test_a_matrix_finds_the_cells_of_a_window_and_group(rows: list[tuple[int, int]]) -> None:
    at, group = np.array(rows, np.int64).reshape(-1, 2).T
    bags_by_row = bags_of([{number: 1} for number in range(len(rows))])
    matrix = RunMatrix(bags_by_row, at, group, 4, 3)
    for low in range(5):
        for high in range(low, 5):
            wanted = [
                sorted(n for n, (t, g) in enumerate(rows) if low <= t < high and g == mine)
                for mine in range(3)
            ]
            bound = np.array([low]), np.array([high])
            whole = matrix.windows(*bound)
            some = matrix.at(np.repeat(low, 3), np.repeat(high, 3), np.arange(3))
            for found in (whole, some):
                assert isinstance(found, Runs)
                picked = found.pick(99, by_weight=False)
                values = found.dictionary.take(pa.array(picked.codes)).to_pylist()
                parts = np.split(np.array(values, np.int64), picked.offsets[1:-1])
                assert [part.tolist() for part in parts] == wanted


def test_runs_larger_than_a_matrix_are_parted() -> None:
    """Many overlapping runs, of more entries together than one matrix takes."""
    rng = np.random.default_rng(7)
    cells = [dict.fromkeys(rng.choice(5_000, 2_000, replace=False).tolist(), 1) for _ in range(400)]
    assert sum(map(len, cells)) > rank_loops.MOST_ENTRIES
    bounds = [(low, low + 200) for low in range(0, 200, 50)]
    found = asked(cells, bounds)
    numbers = np.asarray(found.dictionary.to_numpy(), np.float64)
    values, _ = found.percentile(0.25, numbers)
    wanted = [plain_percentile(sorted(counted(cells, one).elements()), 0.25) for one in bounds]
    assert values.tolist() == wanted


def test_nan_weighs_most() -> None:
    whole = bags.from_rows(pa.array(["a", "b", "c"]), np.array([[1.0, math.nan, math.inf]]))
    found = Runs(SortedBags(whole), np.array([0]), np.array([3])).pick(3, by_weight=True)
    assert found.codes.tolist() == [1, 2, 0]
