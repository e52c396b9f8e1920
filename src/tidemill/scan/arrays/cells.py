"""Rows ⇒ the cells of a feed's root."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidemill.aggregates.columns import GroupedRows
from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.predicates import WORD_BITS
from tidemill.scan.arrays.chunk import Column
from tidemill.scan.arrays.signatures import Signed
from tidemill.scan.arrays.times import Admitted
from tidemill.state.cells import Cells, factorise_words
from tidemill.state.feed import Feed


def cells_of(
    feed: Feed, timed: Admitted, signed: Signed, sliced: Digit, starts: IntArray
) -> Cells | None:
    """One cell for each slice, group and signature among the rows; None if the feed keeps none."""
    chunk = timed.chunk
    signature, signatures, kept = _own_signatures(feed, signed)
    rows = None if kept.all() else np.flatnonzero(kept[signed.ids])
    count = len(chunk) if rows is None else len(rows)
    if not count:
        return None
    keys = [chunk.column(feed.scan.keys[n].columns[0]) for n in feed.nodes[0].keys]
    signs = Digit(signature[signed.ids], len(signatures))
    digits = [*(key.coded.digit for key in keys), signs, sliced]
    mine = digits if rows is None else [Digit(d.codes[rows], d.size) for d in digits]
    found = number_rows(mine, count)
    some = found.rows if rows is None else rows[found.rows]
    group, groups = _groups(feed, keys, some)
    grouped = GroupedRows(chunk, timed.times_us, rows, found.ids, found.count)
    return Cells(
        slices=starts,
        slice_index=sliced.codes[some].astype(np.int64),
        group=group,
        groups=groups,
        signature=signs.codes[some],
        signatures=signatures,
        lanes=tuple(lane.lift_rows(grouped) for lane in feed.lanes),
    )


def _own_signatures(feed: Feed, signed: Signed) -> tuple[IntArray, IntArray, BoolArray]:
    """Of every signature of the scan: the number of the feed's own, these, and which it keeps."""
    words = len(feed.signature_columns)
    mine = [sum(1 << b % WORD_BITS for b in feed.bits if b // WORD_BITS == w) for w in range(words)]
    own: IntArray = signed.words[:, :words] & np.array(mine, dtype=np.int64)
    kept = np.full(len(own), feed.keeps_all) | np.any(own, axis=1)
    numbers, some = factorise_words(own)
    return numbers, own[some], kept


def _groups(feed: Feed, keys: list[Column], some: IntArray) -> tuple[IntArray, pa.Table]:
    """The group of each cell, of which some row is known, and the keys of each group."""
    digits = [Digit(key.coded.digit.codes[some], key.coded.digit.size) for key in keys]
    found = number_rows(digits, len(some))
    columns = {
        name: key.take(some[found.rows]) for name, key in zip(feed.key_columns, keys, strict=True)
    }
    return found.ids, pa.table(columns)
