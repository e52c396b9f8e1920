"""Rows ⇒ the cells of a feed's root, and the cells of several chunks put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.aggregates import Encoded, Lane
from tidemill.plan.predicates import WORD_BITS
from tidemill.spark.columnar.chunk import Chunk, Column
from tidemill.spark.columnar.numbering import Digit, number
from tidemill.spark.columnar.reduce import combine, lift
from tidemill.spark.columnar.signatures import Signed
from tidemill.synopsis.cells import Cells, factorise
from tidemill.synopsis.feed import Feed

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def cells_of(
    feed: Feed, chunk: Chunk, signed: Signed, sliced: Digit, starts: IntArray
) -> Cells | None:
    """One cell for each slice, group and signature among the rows; None if the feed keeps none."""
    signature, signatures, kept = _own_signatures(feed, signed)
    rows = None if kept.all() else np.flatnonzero(kept[signed.ids])
    count = len(chunk) if rows is None else len(rows)
    if not count:
        return None
    keys = [chunk.column(feed.scan.keys[n].columns[0]) for n in feed.nodes[0].keys]
    signs = Digit(signature[signed.ids], len(signatures))
    digits = [*(key.coded.digit for key in keys), signs, sliced]
    mine = digits if rows is None else [Digit(d.codes[rows], d.size) for d in digits]
    found = number(mine, count)
    some = found.rows if rows is None else rows[found.rows]
    group, groups = _groups(feed, keys, some)
    return Cells(
        slices=starts,
        slice_index=sliced.codes[some].astype(np.int64),
        group=group,
        groups=groups,
        signature=signs.codes[some],
        signatures=signatures,
        lanes=tuple(lift(lane, chunk, rows, found.ids, found.count) for lane in feed.lanes),
    )


def together(lanes: tuple[Lane, ...], parts: Sequence[Cells]) -> Cells:
    """The cells of all parts, those of one slice, group and signature combined."""
    if len(parts) == 1:
        return parts[0]
    all_starts = [part.slices[part.slice_index] for part in parts]
    starts, place = np.unique(np.concatenate(all_starts), return_inverse=True)
    group, groups = _joined_groups(parts)
    signature, signatures = _joined_signatures(parts)
    digits = [
        Digit(group, max(1, len(groups))),
        Digit(signature, len(signatures)),
        Digit(place, len(starts)),
    ]
    found = number(digits, len(place))
    some = found.rows
    return Cells(
        slices=starts,
        slice_index=place[some],
        group=group[some],
        groups=groups,
        signature=signature[some],
        signatures=signatures,
        lanes=tuple(
            combine(lane, _concatenated([part.lanes[n] for part in parts]), found.ids, found.count)
            for n, lane in enumerate(lanes)
        ),
    )


def _own_signatures(feed: Feed, signed: Signed) -> tuple[IntArray, IntArray, BoolArray]:
    """Of every signature of the scan: the number of the feed's own, these, and which it keeps."""
    words = len(feed.signature_columns)
    mine = [sum(1 << b % WORD_BITS for b in feed.bits if b // WORD_BITS == w) for w in range(words)]
    own: IntArray = signed.words[:, :words] & np.array(mine, dtype=np.int64)
    kept = np.full(len(own), feed.keeps_all) | np.any(own, axis=1)
    numbers, first = _factorised(own)
    return numbers, own[first], kept


def _factorised(words: IntArray) -> tuple[IntArray, IntArray]:
    table = pa.table(list(words.T), [f"_{n}" for n in range(words.shape[1])])
    return factorise(table, len(words))


def _groups(feed: Feed, keys: list[Column], some: IntArray) -> tuple[IntArray, pa.Table]:
    """The group of each cell, of which some row is known, and the keys of each group."""
    digits = [Digit(key.coded.digit.codes[some], key.coded.digit.size) for key in keys]
    found = number(digits, len(some))
    columns = {
        name: key.take(some[found.rows]) for name, key in zip(feed.key_columns, keys, strict=True)
    }
    return found.ids, pa.table(columns)


def _joined_groups(parts: Sequence[Cells]) -> tuple[IntArray, pa.Table]:
    if not parts[0].groups.column_names:
        return np.zeros(sum(map(len, parts)), dtype=np.int64), parts[0].groups
    whole = pa.concat_tables([part.groups for part in parts])
    numbers, first = factorise(whole, len(whole))
    counts = [len(part.groups) for part in parts]
    return _renumbered(numbers, counts, [part.group for part in parts]), whole.take(pa.array(first))


def _joined_signatures(parts: Sequence[Cells]) -> tuple[IntArray, IntArray]:
    whole = np.concatenate([part.signatures for part in parts])
    numbers, first = _factorised(whole)
    counts = [len(part.signatures) for part in parts]
    return _renumbered(numbers, counts, [part.signature for part in parts]), whole[first]


def _renumbered(numbers: IntArray, counts: list[int], mine: list[IntArray]) -> IntArray:
    """Numbers within each part ⇒ numbers within all."""
    ends = np.cumsum(counts)[:-1]
    tables = np.split(numbers, ends)
    return np.concatenate([table[own] for table, own in zip(tables, mine, strict=True)])


def _concatenated(lanes: list[Encoded]) -> Encoded:
    values = np.concatenate([lane.values for lane in lanes])
    if all(lane.valid is None for lane in lanes):
        return Encoded(values, None)
    valid: list[Any] = [
        np.ones(len(lane.values), np.bool_) if lane.valid is None else lane.valid for lane in lanes
    ]
    return Encoded(values, np.concatenate(valid))
