"""Windows of objects: every kernel for them against merging what a window holds, one by one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.merging import Merging, objects
from tidemill.synopsis.kernels.choose import OBJECT_KERNELS, Kernel, choose


class Union:
    """Sets, and how often any were merged."""

    def __init__(self) -> None:
        self.merges = 0
        self.algebra = Algebra("union", Merging(self.merge), None)

    def merge(self, states: Any) -> frozenset[int]:
        assert len(states) > 1, "one alone needs no merge"
        self.merges += 1
        return frozenset().union(*states)


def random_cells(rng: random.Random, slices: int, groups: int) -> np.ndarray[Any, Any]:
    states = [
        frozenset((place,)) if rng.random() < 0.7 else None for place in range(slices * groups)
    ]
    return objects(states).reshape(slices, groups)


def plainly(cells: np.ndarray[Any, Any], lo: int, hi: int, group: int) -> frozenset[int] | None:
    there = [state for state in cells[lo:hi, group] if state is not None]
    return frozenset().union(*there) if there else None


@pytest.mark.parametrize("kernel", OBJECT_KERNELS)
@pytest.mark.parametrize("seed", range(40))
def test_windows_hold_what_their_slices_hold(kernel: Kernel, seed: int) -> None:
    rng = random.Random(seed)
    slices, groups = rng.randrange(1, 40), rng.choice((1, 3, 100))
    cells, windows = random_cells(rng, slices, groups), rng.randrange(0, 12)
    bounds = [sorted(rng.choices(range(slices + 1), k=2)) for _ in range(windows)]
    lo, hi = np.array(bounds, np.int64).reshape(-1, 2).T
    prepared = OBJECT_KERNELS[kernel](cells, Union().algebra)
    for _ in range(2):
        found = prepared.windows(lo, hi)
        assert found.shape == (windows, groups)
        for place, (low, high) in enumerate(bounds):
            assert [plainly(cells, low, high, g) for g in range(groups)] == found[place].tolist()
        group = np.array(rng.choices(range(groups), k=windows), np.int64)
        told = [plainly(cells, a, b, g) for (a, b), g in zip(bounds, group, strict=True)]
        assert prepared.at(lo, hi, group).tolist() == told


def test_what_nobody_asks_for_is_not_merged() -> None:
    """64 windows of 100 slices: far fewer merges than slices, and of one group only."""
    cells = objects([frozenset((n,)) for n in range(256 * 50)]).reshape(256, 50)
    union, lo = Union(), np.arange(64)
    prepared = OBJECT_KERNELS["lazy"](cells, union.algebra)
    prepared.at(lo, lo + 100, np.full(64, 7))
    assert 64 < union.merges < 64 + 164
    before = union.merges
    prepared.at(lo, lo + 100, np.full(64, 7))
    assert union.merges == before + 64, "runs are kept"


def test_few_slices_are_merged_as_they_are() -> None:
    lo = np.arange(50)
    assert choose(Union().algebra, 200, lo, lo + 2, 10) == "basic"
    assert choose(Union().algebra, 200, lo, lo + 100, 10) == "lazy"
