"""Counts of values as arrays: lower bounds, and how much each may be short by.

Values are integers, ascending; of texts they are hashes, with the texts beside them. Tally of
several states are added up by sorting, which is fast since each is in order. What has too many
values loses the least frequent ones as Misra and Gries have it: all counts become less by the
largest that is dropped, and no true count is further from what is kept than all of that together
(Agarwal and others, Mergeable summaries, 2012).

>>> whole = added([counted([7, 5], [1, 2]), counted([5, 3], [4, 1])])
>>> whole.keys.tolist(), whole.counts.tolist()
([3, 5, 7], [1, 6, 1])
>>> few = cut(whole, 2)
>>> few.keys.tolist(), few.counts.tolist(), few.missed
([5], [5], 1)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from tidemill.aggregates.merging import objects
from tidemill.aggregates.powers import MOST_COUNTED, multiplied_counts
from tidemill.aggregates.sketches.keys import SketchKey
from tidemill.arrays import Array, IntArray

# How the bytes begin, which no sketch of the library does; then values, what is missed, texts.
MARK = b"TALLY"
_HEAD = struct.Struct("<5s?qq")
HEAD_SIZE, ROWS_AT = _HEAD.size, struct.calcsize("<5s?")


@dataclass(frozen=True, eq=False)
class Tally:
    """A value is there as often as its count says, or up to `missed` times more."""

    keys: IntArray
    counts: IntArray
    missed: int = 0
    texts: Array | None = None

    def take(self, places: Array) -> Tally:
        texts = None if self.texts is None else self.texts[places]
        return Tally(self.keys[places], self.counts[places], self.missed, texts)

    def count(self, key: int) -> int:
        place = int(np.searchsorted(self.keys, key))
        there = place < len(self.keys) and self.keys[place] == key
        return int(self.counts[place]) if there else 0

    @property
    def values(self) -> list[SketchKey]:
        found: list[SketchKey] = (self.keys if self.texts is None else self.texts).tolist()
        return found


def counted(values: Sequence[SketchKey], counts: Sequence[int]) -> Tally:
    """Of distinct values, each with how often it is there."""
    texts = objects(values) if values and isinstance(values[0], str) else None
    keys = np.array(values if texts is None else [whole_key(text) for text in values], np.int64)
    unsorted = Tally(keys, np.array(counts, np.int64), 0, texts)
    return unsorted.take(np.argsort(keys, kind="stable"))


@lru_cache(maxsize=2**16)
def whole_key(key: SketchKey) -> int:
    """A number in place of any key: of a text 64 bits that are the same everywhere."""
    if isinstance(key, int):
        return key
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little", signed=True)


def added(parts: Sequence[Tally]) -> Tally:
    keys = np.concatenate([part.keys for part in parts])
    if not len(keys):
        return Tally(keys, keys, sum(part.missed for part in parts))
    # The parts are in order, and a stable sort finds their runs.
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    is_new = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    (first,) = is_new.nonzero()
    counts = np.concatenate([part.counts for part in parts])[order]
    texts = [part.texts for part in parts if part.texts is not None]
    return Tally(
        keys[first],
        np.add.reduceat(counts, first),
        sum(part.missed for part in parts),
        np.concatenate(texts)[order[first]] if texts else None,
    )


def scaled(tally: Tally, weight: int) -> Tally:
    """So many of its like added up, as far as 64 bits hold it."""
    counts = multiplied_counts(tally.counts, weight, len(tally.keys))
    return replace(tally, counts=counts, missed=min(tally.missed * weight, MOST_COUNTED))


def cut(counts: Tally, room: int) -> Tally:
    """So many values at most, those that are there most often."""
    excess = len(counts.keys) - room
    if excess <= 0:
        return counts
    off = int(np.partition(counts.counts, excess - 1)[excess - 1])
    left = counts.take((counts.counts > off).nonzero()[0])
    return Tally(left.keys, left.counts - off, counts.missed + off, left.texts)


def to_bytes(counts: Tally) -> bytes:
    head = _HEAD.pack(MARK, counts.texts is not None, len(counts.keys), counts.missed)
    plain = head + counts.keys.tobytes() + counts.counts.tobytes()
    if counts.texts is None:
        return plain
    written = [text.encode() for text in counts.texts.tolist()]
    return plain + np.array(list(map(len, written)), np.int64).tobytes() + b"".join(written)


def is_counts(state: bytes) -> bool:
    return state.startswith(MARK)


def from_bytes(state: bytes) -> Tally:
    _, has_texts, rows, missed = _HEAD.unpack_from(state)
    numbers = np.frombuffer(state, np.int64, rows * (3 if has_texts else 2), _HEAD.size)
    keys, counts, *lengths = numbers.reshape(-1, rows) if rows else (numbers, numbers)
    if not has_texts or not rows:
        return Tally(keys, counts, missed)
    text, ends = state[_HEAD.size + numbers.nbytes :], np.cumsum(lengths[0]).tolist()
    starts = [0, *ends[:-1]]
    texts = [text[a:b].decode() for a, b in zip(starts, ends, strict=True)]
    return Tally(keys, counts, missed, objects(texts))
