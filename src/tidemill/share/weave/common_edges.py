"""The number of edges that each group has in common with every other, for the greedy.

A group with few edges keeps a list of their places, which are looked up in the mask of another
group. A group with many keeps a bitmap, which is met with another bitmap word by word. The share
of places with an edge decides which is cheaper. For a handful of places the index in `holders.py`
is asked instead. When two groups merge, the counts of the larger one are kept, and only those of
the places that are new to it are added.

>>> groups = CommonEdges(64, [np.array([0, 2, 4]), np.array([0, 3]), np.array([2, 3, 5])])
>>> groups.table.tolist()
[[3, 1, 1], [1, 2, 1], [1, 1, 3]]
>>> groups.merge(0, 1)[2].item(), groups.edges.tolist()
(2, [4, 0, 3])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tidemill.arrays import BoolArray, IntArray
from tidemill.share.weave.holders import Holders
from tidemill.share.weave.timeline import Places

Words = npt.NDArray[np.uint64]

# Meeting 64 places as one word of a bitmap takes as long as looking up two of a list (measured).
PLACES_PER_LOOKUP = 32
_BITS = 64
# Going through one holding (gather, sort) takes as long as looking up this many places.
LOOKUPS_PER_HOLDING = 16
# Trying a place in a bitmap: find the byte, cut out the bit.
LOOKUPS_PER_PROBE = 3
# Words met at a time: half a megabyte, which stays in the cache.
_CHUNK_WORDS = 2**16
# Lists made since are asked one by one; beyond this many, all are laid end to end anew.
_MOST_RECENT = 32


class CommonEdges:
    """Groups by their slot 0, 1, …; merging keeps one slot and empties the other."""

    def __init__(self, size: int, places: Sequence[Places]) -> None:
        self._size = -(-size // _BITS) * _BITS
        self._lists: dict[int, Places] = {}
        self._bitmaps: dict[int, Words] = {}
        self.edges = np.array([listed.size for listed in places], np.int64)
        for slot, listed in enumerate(places):
            self._keep(slot, listed)
        self._holders = Holders(self._lists, len(places), self._size)
        self._lay_out()
        self.table = self._between_all()

    def _between_all(self) -> IntArray:
        """The whole table, each pair asked once: the sparser group is looked up in the denser."""
        table = np.zeros((self.edges.size, self.edges.size), np.int64)
        dense = sorted(self._bitmaps)
        for rank, slot in enumerate(dense):
            table[slot, dense[rank:]] = self._met(self._bitmaps[slot], dense[rank:])
            self._look_up(_unpacked(self._bitmaps[slot]), table[slot])
        for rank, slot in enumerate(self._laid):
            self._look_up(self._marked(self._lists[slot]), table[slot], rank)
        return np.maximum(table, table.T)

    def merge(self, into: int, emptied: int) -> IntArray:
        """The new row of the slot that stays; its counts with emptied slots mean nothing."""
        large, small = (
            (into, emptied) if self.edges[into] >= self.edges[emptied] else (emptied, into)
        )
        new = self._beyond(small, large)
        row: IntArray = self.table[large] + self._of(new)
        edges = self.edges[large] + new.size
        self._join(into, emptied, large, new)
        self.edges[[into, emptied]] = edges, 0
        row[into] = edges
        self.table[into], self.table[:, into] = row, row
        return row

    def _beyond(self, small: int, large: int) -> Places:
        """Places of the one that the other lacks."""
        if small in self._bitmaps:
            rest = self._bitmaps[small] & ~self._words(large)
            return np.flatnonzero(_unpacked(rest)).astype(np.int32)
        places = self._lists[small]
        if large in self._bitmaps:
            return places[~_probed(self._bitmaps[large], places)]
        return places[~self._marked(self._lists[large]).take(places)]

    def _join(self, into: int, emptied: int, large: int, new: Places) -> None:
        bitmap, listed = self._bitmaps.get(large), self._lists.get(large)
        for slot in (into, emptied):
            self._bitmaps.pop(slot, None)
            self._lists.pop(slot, None)
            self._recent.discard(slot)
        if listed is not None:
            self._keep(into, np.concatenate([listed, new]))
        elif bitmap is not None:
            self._bitmaps[into] = bitmap | packed(self._marked(new)) if new.size else bitmap
        if into in self._lists:
            self._recent.add(into)
        self._holders.merge(into, emptied)
        if len(self._recent) > _MOST_RECENT:
            self._lay_out()

    def _of(self, places: Places) -> IntArray:
        """Of these places, how many each group holds."""
        if self._many_pay(places):
            return self._of_many(places)
        counts = self._holders.counts(places)
        for other, words in self._bitmaps.items():
            counts[other] = np.count_nonzero(_probed(words, places))
        return counts

    def _many_pay(self, places: Places) -> bool:
        """Says whether laying the places out as mask and bitmap takes fewer look-ups."""
        few = self._holders.holdings(places) * LOOKUPS_PER_HOLDING
        few += places.size * LOOKUPS_PER_PROBE * len(self._bitmaps)
        many = self._flat.size + self._size // PLACES_PER_LOOKUP * len(self._bitmaps)
        return few > many

    def _of_many(self, places: Places) -> IntArray:
        counts = np.zeros(self.edges.size, np.int64)
        mask = self._marked(places)
        self._look_up(mask, counts)
        for other in self._recent:
            counts[other] = np.count_nonzero(mask.take(self._lists[other]))
        dense = list(self._bitmaps)
        counts[dense] = self._met(packed(mask), dense)
        return counts

    def _keep(self, slot: int, places: Places) -> None:
        if places.size * PLACES_PER_LOOKUP > self._size:
            self._bitmaps[slot] = packed(self._marked(places))
        else:
            self._lists[slot] = places

    def _lay_out(self) -> None:
        """All lists end to end, the longest first, so that one look-up asks every group."""
        self._recent: set[int] = set()
        filled = [slot for slot, places in self._lists.items() if places.size]
        self._laid = sorted(filled, key=lambda slot: (-self._lists[slot].size, slot))
        lists = [self._lists[slot] for slot in self._laid]
        self._flat = np.concatenate(lists) if lists else np.empty(0, np.int32)
        self._starts = np.cumsum([0, *(places.size for places in lists)])[:-1]

    def _look_up(self, mask: BoolArray, counts: IntArray, rank: int = 0) -> None:
        """Fill in the counts of the groups laid out, from that rank on."""
        if rank < len(self._laid):
            first = self._starts[rank]
            hits = mask.take(self._flat[first:])
            counts[self._laid[rank:]] = np.add.reduceat(
                hits, self._starts[rank:] - first, dtype=np.int64
            )

    def _met(self, words: Words, slots: Sequence[int]) -> IntArray:
        counts = np.zeros(len(slots), np.int64)
        step = max(1, _CHUNK_WORDS // words.size)
        for low in range(0, len(slots), step):
            rows = np.stack([self._bitmaps[slot] for slot in slots[low : low + step]])
            rows &= words
            counts[low : low + step] = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
        return counts

    def _words(self, slot: int) -> Words:
        return (
            self._bitmaps[slot]
            if slot in self._bitmaps
            else packed(self._marked(self._lists[slot]))
        )

    def _marked(self, places: Places) -> BoolArray:
        mask = np.zeros(self._size, np.bool_)
        mask[places] = True
        return mask


def packed(mask: BoolArray) -> Words:
    """Sixty-four places a word."""
    return np.packbits(mask).view(np.uint64)


def _unpacked(words: Words) -> BoolArray:
    return np.unpackbits(words.view(np.uint8)).view(np.bool_)


def _probed(words: Words, places: Places) -> BoolArray:
    """Flags the places that are in the bitmap, whose bytes begin with their highest bit."""
    bits = np.right_shift(128, places & 7).astype(np.uint8)
    is_set: BoolArray = (words.view(np.uint8).take(places >> 3) & bits) != 0
    return is_set
