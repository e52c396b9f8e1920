"""Readings answered in bundles, against plain loops over their cells.

Random cells of random signatures, read by bits and by rules of several bits. Catches windows
that end up with a neighbour's slices or groups, cells read twice or not at all, and rows of a
cell that are not combined.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from tidemill.aggregates import ROWS, Encoded
from tidemill.aggregates.lanes import Max
from tidemill.plan.expressions import Scalar
from tidemill.plan.predicates import NO_ROWS, Reading, Term
from tidemill.state.cells import Cells, narrow, which_read
from tidemill.state.layouts import bundles as bundling
from tidemill.state.layouts.bundles import Spans, bundles
from tidemill.types import BIGINT

LANES = (ROWS, Max(Scalar("n", "n", BIGINT, ("n",))))
BITS = [Reading((Term(1 << bit),)) for bit in range(6)]
Found = dict[tuple[int, int], tuple[int, int]]


def random_cells(rng: np.random.Generator, is_routed: bool) -> Cells:
    """Bit 0 is wide, bit 5 narrow; routed cells hold one bit each."""
    slices, groups = int(rng.integers(1, 12)), int(rng.integers(1, 40))
    numbers = 1 << np.arange(6) if is_routed else np.arange(64)
    every = np.array(np.meshgrid(*map(np.arange, (slices, groups, len(numbers)))))
    at, group, signature = every.reshape(3, -1)
    kept = rng.random(len(at)) < np.where(group >> signature % 6 == 0, 0.9, rng.choice([0, 0.02]))
    at, group, signature = at[kept], group[kept], signature[kept]
    counts, largest = rng.integers(1, 9, len(at)), rng.integers(-99, 99, len(at))
    valid = rng.random(len(at)) < 0.8
    return Cells(
        np.arange(slices) * 10,
        at,
        group,
        pa.table({"_k0": np.arange(groups)}),
        signature,
        numbers[:, None],
        (Encoded(counts, None), Encoded(largest, valid)),
    )


def by_loops(cells: Cells, readings: list[Reading], windows: list[tuple[int, int, int]]) -> Found:
    """(window, group) ⇒ count and largest, -1000 for none."""
    found: Found = {}
    counts, largest = cells.lanes
    assert isinstance(counts, Encoded)
    assert isinstance(largest, Encoded)
    assert largest.valid is not None
    for number, (reading, start, end) in enumerate(windows):
        is_read = readings[reading].matches(cells.signatures)
        for row in range(len(cells)):
            inside = start <= cells.slices[cells.slice_index[row]] < end
            if inside and is_read[cells.signature[row]]:
                key = number, int(cells.group[row])
                count, most = found.get(key, (0, -1000))
                value = int(largest.values[row]) if largest.valid[row] else -1000
                found[key] = count + int(counts.values[row]), max(most, value)
    return found


def in_bundles(
    cells: Cells, readings: list[Reading], windows: list[tuple[int, int, int]], seen: Counter[str]
) -> Found:
    found: Found = {}
    reading, starts, ends = np.array(windows, dtype=np.int64).T
    read = narrow(cells, readings, which_read(readings, cells.signatures))
    spans = Spans.of(read, reading, starts, ends)
    for number, bundle in enumerate(bundles(LANES, read, spans, {})):
        seen[f"bundle {number}"] += 1
        naming = bundle.naming(spans)
        for block in bundle.laid.blocks(*bundle.bounds(spans)):
            seen[type(block).__name__] += 1
            here = np.ones(block.shape, bool) if block.present is None else block.present
            at = np.flatnonzero(here)
            some = block.at(at)
            group = naming(some.window, some.group)
            keys = zip(some.window.tolist(), group.tolist(), strict=True)
            first, second = some.lane(0), some.lane(1)
            assert isinstance(first, tuple)
            assert isinstance(second, tuple)
            (counts, _), (largest, valid) = first, second
            most = np.where(True if valid is None else valid, largest, -1000)
            for key, count, value in zip(keys, counts.tolist(), most.tolist(), strict=True):
                assert key not in found
                found[key] = count, value
    return found


def random_readings(rng: np.random.Generator, is_routed: bool) -> list[Reading]:
    chosen = [BITS[bit] for bit in rng.permutation(6)[: rng.integers(1, 7)]]
    if is_routed:
        return chosen
    return [*chosen, Reading((Term(1, 2), Term(4))), NO_ROWS, Reading((Term(0),))]


@pytest.mark.parametrize("most_empty", [0, 50, 2**17])
@pytest.mark.parametrize("is_routed", [True, False])
def test_bundles_equal_loops(
    most_empty: int, is_routed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundling, "MOST_EMPTY", most_empty)
    seen: Counter[str] = Counter()
    for seed in range(25):
        rng = np.random.default_rng(seed)
        cells, readings = random_cells(rng, is_routed), random_readings(rng, is_routed)
        windows = [
            (int(rng.integers(-1, len(readings))), int(start) * 10, int(start + length) * 10)
            for start, length in rng.integers(0, 8, (10, 2))
        ]
        wanted = by_loops(cells, [*readings, NO_ROWS], windows)
        assert in_bundles(cells, readings, windows, seen) == wanted
        seen["pairs"] += len(wanted)
    assert seen["pairs"] > 500
    assert seen["DenseBlock"] > 20
    assert seen["bundle 1"] > 5 or most_empty


def test_sparse_and_dense_readings_lie_in_bundles_of_their_own() -> None:
    """A reading in every cell, and one of 400 groups that are each in one slice of 400."""
    every = np.array(np.meshgrid(np.arange(400), np.arange(5))).reshape(2, -1)
    once = np.arange(400)
    at, group = np.append(every[0], once), np.append(every[1], once)
    signature = np.repeat([0, 1], [len(every[0]), len(once)])
    ones = Encoded(np.ones(len(at), np.int64), np.ones(len(at), bool))
    keys, signatures = pa.table({"_k0": once}), np.array([[1], [2]])
    cells = Cells(once, at, group, keys, signature, signatures, (ones, ones))
    windows = [(reading, start, start + 9) for start in range(0, 390, 30) for reading in (0, 1)]
    seen: Counter[str] = Counter()
    found = in_bundles(cells, BITS[:2], windows, seen)
    assert found == by_loops(cells, BITS[:2], windows)
    assert seen == {"bundle 0": 1, "bundle 1": 1, "DenseBlock": 1, "SparseBlock": 1}
