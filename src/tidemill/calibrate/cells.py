"""Cells made up, as many as asked for, in the form that feeds and synopses have them in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidemill.aggregates import Encoded, Lane
from tidemill.plan.predicates import has_bit
from tidemill.state.cells import Cells
from tidemill.state.synopsis import Partials

GROUPS = 2_000
_SECOND_US = 1_000_000
_SIGNATURES = 32
_VALUES = 40


def make_cells(partials: Partials, slices: int, bits: int = 0) -> Cells:
    """Every other group in each of so many seconds, in any order; half of the bits are set."""
    random = np.random.default_rng(slices)
    slice_index = np.repeat(np.arange(slices), GROUPS)
    group = random.permuted(np.tile(np.arange(GROUPS), (slices, 1)), axis=1).ravel()
    chosen = np.flatnonzero(random.random(len(group)) < 0.5)
    words = len(partials.signature_columns)
    signatures = random.integers(0, 1 << bits, (_SIGNATURES if bits else 1, words))
    return Cells(
        slices=np.arange(slices) * _SECOND_US,
        slice_index=slice_index[chosen],
        group=group[chosen],
        groups=_groups(partials),
        signature=random.integers(0, len(signatures), len(chosen)),
        signatures=signatures,
        lanes=tuple(_lane(lane, len(chosen), random) for lane in partials.lanes),
    )


def holding(cells: Cells, bits: int) -> int:
    """The number of pairs of a cell and one of the first bits that it has."""
    counts = sum(has_bit(cells.signatures, bit).astype(np.int64) for bit in range(bits))
    return int(np.asarray(counts)[cells.signature].sum())


def _groups(partials: Partials) -> pa.Table:
    """Keys are texts; of two, each has some tens of values."""
    numbers = np.arange(GROUPS)
    columns = (numbers,) if len(partials.key_columns) == 1 else np.divmod(numbers, _VALUES)
    texts = (pa.array(column).cast(pa.string()) for column in columns)
    return pa.table(dict(zip(partials.key_columns, texts, strict=True)))


def _lane(lane: Lane, rows: int, random: np.random.Generator) -> Encoded:
    values = random.integers(1, 1_000, rows)
    return Encoded(values.astype(np.float64) if lane.type.is_float else values, None)
