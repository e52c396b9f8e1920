"""Rows ⇒ the cells of a feed's root."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidemill.aggregates.columns import GroupedRows
from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.arrays import BoolArray, IntArray
from tidemill.scan.arrays.chunk import ChunkColumn
from tidemill.scan.arrays.signatures import Signed
from tidemill.scan.arrays.times import Admitted
from tidemill.scan.contract import own_bits
from tidemill.state.cells import Cells, factorise_words
from tidemill.state.feed import Feed


def cells_of(
    feed: Feed, timed: Admitted, signed: Signed, sliced: Digit, starts: IntArray
) -> Cells | None:
    """One cell for each slice, group and signature among the rows; None if the feed keeps none."""
    chunk = timed.chunk
    signature, signatures, is_kept = _own_signatures(feed, signed)
    rows = None if is_kept.all() else np.flatnonzero(is_kept[signed.ids])
    count = len(chunk) if rows is None else len(rows)
    if not count:
        return None
    keys = [chunk.column(feed.scan.keys[n].columns[0]) for n in feed.nodes[0].keys]
    signs = Digit(signature[signed.ids], len(signatures))
    digits = [*(key.coded.digit for key in keys), signs, sliced]
    digits = digits if rows is None else [Digit(d.codes[rows], d.size) for d in digits]
    numbers = number_rows(digits, count)
    # A row of each cell.
    cell_rows = numbers.rows if rows is None else rows[numbers.rows]
    group, groups = _groups(feed, keys, cell_rows)
    grouped = GroupedRows(chunk, timed.times_us, rows, numbers.ids, numbers.count)
    return Cells(
        slices=starts,
        slice_index=sliced.codes[cell_rows].astype(np.int64),
        group=group,
        groups=groups,
        signature=signs.codes[cell_rows],
        signatures=signatures,
        lanes=tuple(lane.lift_rows(grouped) for lane in feed.lanes),
    )


def _own_signatures(feed: Feed, signed: Signed) -> tuple[IntArray, IntArray, BoolArray]:
    """For each signature of the scan, the number of the feed's own and whether the feed keeps it.

    In the middle stand the feed's own signatures.
    """
    masks = np.array(own_bits(feed), dtype=np.int64)
    words: IntArray = signed.words[:, : len(masks)] & masks
    is_kept = np.full(len(words), feed.keeps_all) | np.any(words, axis=1)
    numbers, firsts = factorise_words(words)
    return numbers, words[firsts], is_kept


def _groups(feed: Feed, keys: list[ChunkColumn], cell_rows: IntArray) -> tuple[IntArray, pa.Table]:
    """The group of each cell, of which one row is given, and the keys of each group."""
    digits = [Digit(key.coded.digit.codes[cell_rows], key.coded.digit.size) for key in keys]
    numbers = number_rows(digits, len(cell_rows))
    columns = {
        name: key.take(cell_rows[numbers.rows])
        for name, key in zip(feed.key_columns, keys, strict=True)
    }
    return numbers.ids, pa.table(columns)
