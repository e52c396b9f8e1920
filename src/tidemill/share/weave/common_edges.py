"""How many edges each group has in common with the others, for the greedy's many questions.

Rare groups keep a list of places, which are looked up in the asking group's mask; frequent ones
keep a bitmap, which is met with the asking group's bitmap word by word. Which of the two is
cheaper is a matter of the share of places taken. A group with very few places asks who holds
them instead.

>>> groups = CommonEdges(64, [np.array([0, 2, 4]), np.array([0, 3]), np.array([2, 3, 5])])
>>> groups.between_all().tolist()
[[3, 1, 1], [1, 2, 1], [1, 1, 3]]
>>> groups.merge(0, 1)
>>> groups.edges.tolist(), groups.with_all(0)[2].item()
([4, 0, 3], 2)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tidemill.share.weave.holders import Holders
from tidemill.share.weave.timeline import IntArray, Mask, Places

Words = npt.NDArray[np.uint64]

# Meeting 64 places as one word of a bitmap takes as long as looking up two of a list (measured).
PLACES_PER_LOOKUP = 32
_BITS = 64
# Going through one holding (gather, sort) takes as long as looking up this many places.
LOOKUPS_PER_HOLDING = 16
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
        self.edges = np.array([found.size for found in places], np.int64)
        for slot, found in enumerate(places):
            self._keep(slot, found)
        self._holders = Holders(self._lists, len(places), self._size)
        self._lay_out()

    def between_all(self) -> IntArray:
        """The whole table, each pair asked once: the sparser group is looked up in the denser."""
        table = np.zeros((self.edges.size, self.edges.size), np.int64)
        dense = sorted(self._bitmaps)
        for rank, slot in enumerate(dense):
            table[slot, dense[rank:]] = self._met(self._bitmaps[slot], dense[rank:])
            self._look_up(_unpacked(self._bitmaps[slot]), table[slot])
        for rank, slot in enumerate(self._laid):
            self._look_up(self._marked(self._lists[slot]), table[slot], rank)
        return np.maximum(table, table.T)

    def with_all(self, slot: int) -> IntArray:
        """Of one group with every group; what is said of emptied slots means nothing."""
        few = self._lists.get(slot)
        if few is None or self._holders.held(few) * LOOKUPS_PER_HOLDING > self._flat.size:
            return self._of_many(slot)
        return self._of_few(few)

    def _of_few(self, places: Places) -> IntArray:
        counts = self._holders.counts(places)
        byte, bit = places >> 3, np.right_shift(128, places & 7).astype(np.uint8)
        for other, words in self._bitmaps.items():
            counts[other] = np.count_nonzero(words.view(np.uint8).take(byte) & bit)
        return counts

    def _of_many(self, slot: int) -> IntArray:
        counts = np.zeros(self.edges.size, np.int64)
        mask, words = self._both(slot)
        self._look_up(mask, counts)
        for other in self._recent:
            counts[other] = np.count_nonzero(mask.take(self._lists[other]))
        dense = list(self._bitmaps)
        counts[dense] = self._met(words, dense)
        return counts

    def merge(self, kept: int, gone: int) -> None:
        if kept in self._lists and gone in self._lists:
            mine, theirs = self._lists.pop(kept), self._lists.pop(gone)
            new = theirs[~self._marked(mine).take(theirs)]
            self._keep(kept, np.concatenate([mine, new]))
            self.edges[kept] = mine.size + new.size
        else:
            self._bitmaps[kept] = self._both(kept)[1] | self._both(gone)[1]
            self.edges[kept] = int(np.bitwise_count(self._bitmaps[kept]).sum(dtype=np.int64))
        self._forget(kept, gone)
        if len(self._recent) > _MOST_RECENT:
            self._lay_out()

    def _forget(self, kept: int, gone: int) -> None:
        self.edges[gone] = 0
        self._holders.merge(kept, gone)
        self._bitmaps.pop(gone, None)
        self._lists.pop(gone, None)
        self._recent.discard(gone)
        if kept in self._bitmaps:
            self._lists.pop(kept, None)
            self._recent.discard(kept)
        else:
            self._recent.add(kept)

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

    def _look_up(self, mask: Mask, counts: IntArray, rank: int = 0) -> None:
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

    def _both(self, slot: int) -> tuple[Mask, Words]:
        if slot in self._bitmaps:
            return _unpacked(self._bitmaps[slot]), self._bitmaps[slot]
        mask = self._marked(self._lists[slot])
        return mask, packed(mask)

    def _marked(self, places: Places) -> Mask:
        mask = np.zeros(self._size, np.bool_)
        mask[places] = True
        return mask


def packed(mask: Mask) -> Words:
    """Sixty-four places a word."""
    return np.packbits(mask).view(np.uint64)


def _unpacked(words: Words) -> Mask:
    return np.unpackbits(words.view(np.uint8)).view(np.bool_)
