"""An inverted index: for each place, the groups that have an edge there.

It holds the groups with few edges, and serves questions about few places.

>>> lists = {0: np.array([0, 2]), 1: np.array([0, 3]), 2: np.array([2, 3, 5])}
>>> holders = Holders(lists, slots=3, size=64)
>>> holders.merge(0, 1)
>>> holders.counts(np.array([0, 2, 3])).tolist()
[3, 0, 2]
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tidemill.arrays import IntArray
from tidemill.share.weave.timeline import Places


class Holders:
    """Built once from the first groups; later groups are known by the slot they were merged to."""

    def __init__(self, lists: Mapping[int, Places], slots: int, size: int) -> None:
        flat = np.concatenate([np.empty(0, np.int32), *lists.values()])
        owners = np.repeat(list(lists), [places.size for places in lists.values()]).astype(np.int64)
        self._owners = owners[np.argsort(flat, kind="stable")]
        # Holdings of a place stand from its own start to that of the next place.
        self._starts = np.zeros(size + 1, np.int64)
        np.cumsum(np.bincount(flat, minlength=size), out=self._starts[1:])
        self._now = np.arange(slots)

    def merge(self, into: int, emptied: int) -> None:
        self._now[self._now == emptied] = into

    def holdings(self, places: Places) -> int:
        """The number of (place, group) entries that `counts` would go through."""
        return int((self._starts.take(places + 1) - self._starts.take(places)).sum())

    def counts(self, places: Places) -> IntArray:
        """For each group the number of these places, all different, that it holds."""
        low = self._starts.take(places)
        lengths = self._starts.take(places + 1) - low
        starts = np.repeat(low - np.cumsum(lengths) + lengths, lengths)
        slots = self._now[self._owners[starts + np.arange(starts.size)]]
        # Two first groups that are one by now may both hold a place, which then counts once.
        pairs = np.sort(np.repeat(np.arange(places.size), lengths) * self._now.size + slots)
        once = np.ones(pairs.size, np.bool_)
        once[1:] = pairs[1:] != pairs[:-1]
        return np.bincount(pairs[once] % self._now.size, minlength=self._now.size)
