"""Rows in Spark's order, and the first few of each window.

Every column becomes one array of 64-bit keys whose integer order is Spark's order of the values,
so one stable sort serves all types and both directions.

>>> names = pa.array(["b", None, "a"])
>>> order_rows([(names, False, True)]).tolist()
[1, 2, 0]
>>> window = np.array([9, 3, 3])
>>> top_per_window([window], [(names, True, False)], np.array([1, 1, 1])).tolist()
[2, 0]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.answer.least import LONGEST_RUN, sort_runs
from tidemill.arrays import Array, IntArray
from tidemill.compiling import is_worth_loading
from tidemill.evaluation.columns import MaskedColumn, to_arrow
from tidemill.types import Type

# A column; true if it descends; true if its NULLs come first.
OrderColumn = tuple[pa.Array, bool, bool]

LARGEST = np.int64(2**63 - 1)


def order_rows(columns: Sequence[OrderColumn]) -> IntArray:
    """Row numbers in order; rows that tie stay in the order they came."""
    if not columns:
        raise ValueError("an order needs at least one column")
    return _sorted(_sort_keys(columns))


def top_per_window(
    windows: Sequence[IntArray], columns: Sequence[OrderColumn], limits: IntArray
) -> IntArray:
    """Row numbers by window (of one or more numbers), within it by the columns.

    Of each window at most as many as its rows' limit says.
    """
    window = _numbered(windows)
    return cut_runs(order_in_windows(window, _sort_keys(columns)), [window], limits)


def _numbered(windows: Sequence[IntArray]) -> IntArray:
    """Numbers of windows in their order. The rows of a window mostly follow one another."""
    is_new = np.ones(len(windows[0]), dtype=np.bool_)
    is_new[1:] = np.any([window[1:] != window[:-1] for window in windows], axis=0)
    bounds = [window[is_new] for window in windows]
    order = _sorted(bounds)
    is_next = np.zeros(len(order), dtype=np.bool_)
    is_next[1:] = np.any([b[order[1:]] != b[order[:-1]] for b in bounds], axis=0)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(is_next)
    numbers: IntArray = number[np.cumsum(is_new) - 1]
    return numbers


def order_in_windows(window: IntArray, keys: Sequence[IntArray]) -> IntArray:
    """Rows by number of the window, within it by the keys; those that tie stay as they come."""
    order = np.argsort(window, kind="stable").astype(np.int64, copy=False)
    if not keys:
        return order
    ordered = window[order]
    bounds = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    bounds = np.concatenate([[0], bounds, [len(order)]])
    if not is_worth_loading(len(order)) or int(np.diff(bounds).max()) > LONGEST_RUN:
        return _sorted([window, *keys])
    sort_runs(order, bounds, np.stack(keys))
    return order


def cut_runs(order: IntArray, windows: Sequence[IntArray], limits: IntArray) -> IntArray:
    """Of rows in order, window after window, the first of each window, as `limits` allow."""
    if not len(order):
        return order
    is_first = np.ones(len(order), dtype=np.bool_)
    sides = [window[order] for window in windows]
    is_first[1:] = np.any([side[1:] != side[:-1] for side in sides], axis=0)
    position = np.arange(len(order))
    first = np.maximum.accumulate(np.where(is_first, position, 0))
    return order[position - first < limits[order]]


def order_keys(column: MaskedColumn, type: Type, descending: bool) -> IntArray:
    """The keys of a column of any shape; where it has no value they mean nothing."""
    values = column.values
    if values.dtype == object:
        keys = _ranks(to_arrow(column.flat(values.shape), type)).reshape(values.shape)
    elif values.dtype.kind == "f":
        keys = _float_keys(values)
    else:
        keys = values.astype(np.int64, copy=False)
    return ~keys if descending else keys


def _sorted(keys: list[IntArray]) -> IntArray:
    return np.lexsort(keys[::-1]).astype(np.int64)


def _sort_keys(columns: Sequence[OrderColumn]) -> list[IntArray]:
    return [key for column in columns for key in _keys(*column)]


def _keys(array: pa.Array, descending: bool, nulls_first: bool) -> list[IntArray]:
    values = _ranks(array)
    if not array.null_count:
        return [~values if descending else values]
    missing = np.asarray(array.is_null()).astype(np.int64)
    ordered = np.where(missing, 0, ~values if descending else values)
    return [-missing if nulls_first else missing, ordered]


def _ranks(array: pa.Array) -> IntArray:
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_floating(kind):
        return _float_keys(array.fill_null(0).to_numpy(zero_copy_only=False))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return np.asarray(array.cast(pa.int64()).fill_null(0))
    if pa.types.is_timestamp(kind):
        return np.asarray(array.view(pa.int64()).fill_null(0))
    if pa.types.is_date32(kind):
        return np.asarray(array.view(pa.int32()).fill_null(0)).astype(np.int64)
    return np.asarray(pc.rank(array, tiebreaker="dense")).astype(np.int64)


def _float_keys(values: Array) -> IntArray:
    """The bits as an integer, negative ones turned round; one NaN above all, one zero."""
    plain = values.astype(np.float64) + 0.0
    bits = np.where(np.isnan(plain), np.nan, plain).view(np.int64)
    return np.where(np.isnan(plain), LARGEST, np.where(bits < 0, bits ^ LARGEST, bits))
