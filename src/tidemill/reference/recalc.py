"""Windows recalculated from scratch, one value at a time, on Python's own numbers.

The slow twin of the combine kernels and of both layouts: no arrays, no sharing between windows.

>>> recalc([[1], [2], [4]], [0, 1], [2, 3], plus, 0)
[[3], [6]]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

CombineTwo = Callable[[Any, Any], Any]


def plus(left: Any, right: Any) -> Any:
    return left + right


def recalc(
    cells: Sequence[Sequence[Any]],
    lo: Sequence[int],
    hi: Sequence[int],
    combine: CombineTwo,
    identity: Any,
) -> list[list[Any]]:
    """For each window the groups' values of slices lo to hi, combined from left to right."""
    groups = len(cells[0]) if cells else 0
    return [
        [
            reduce(combine, (row[group] for row in cells[first:last]), identity)
            for group in range(groups)
        ]
        for first, last in zip(lo, hi, strict=True)
    ]


class PartialRow(NamedTuple):
    """One partial: where it lies, and a value for each lane (None for NULL)."""

    slice_index: int
    group: int
    values: tuple[Any, ...]


def recalc_rows(
    rows: Sequence[PartialRow], lo: Sequence[int], hi: Sequence[int], combines: Sequence[CombineTwo]
) -> list[tuple[int, int, tuple[Any, ...]]]:
    """(window, group, values) for each pair with a row in it, ordered; NULLs are passed over."""
    ordered = sorted(rows, key=lambda row: (row.slice_index, row.group))
    answers = []
    for window, (first, last) in enumerate(zip(lo, hi, strict=True)):
        inside = [row for row in ordered if first <= row.slice_index < last]
        for group in sorted({row.group for row in inside}):
            partials = [row.values for row in inside if row.group == group]
            answers.append((window, group, _combined(partials, combines)))
    return answers


def _combined(
    partials: Sequence[tuple[Any, ...]], combines: Sequence[CombineTwo]
) -> tuple[Any, ...]:
    lanes = zip(*partials, strict=True)
    return tuple(
        _over_nulls(list(values), combine) for values, combine in zip(lanes, combines, strict=True)
    )


def _over_nulls(values: Sequence[Any], combine: CombineTwo) -> Any:
    present = [value for value in values if value is not None]
    return reduce(combine, present) if present else None
