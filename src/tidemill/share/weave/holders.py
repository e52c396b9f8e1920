"""Which groups hold a place: the lists of places turned round, for groups that have few.

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

    def merge(self, kept: int, gone: int) -> None:
        self._now[self._now == gone] = kept

    def held(self, places: Places) -> int:
        """How many holdings `counts` would go through."""
        return int((self._starts.take(places + 1) - self._starts.take(places)).sum())

    def counts(self, places: Places) -> IntArray:
        """Of these places, all different, how many each group holds."""
        low = self._starts.take(places)
        lengths = self._starts.take(places + 1) - low
        starts = np.repeat(low - np.cumsum(lengths) + lengths, lengths)
        slots = self._now[self._owners[starts + np.arange(starts.size)]]
        # Two first groups that are one by now may both hold a place, which then counts once.
        held = np.sort(np.repeat(np.arange(places.size), lengths) * self._now.size + slots)
        once = np.ones(held.size, np.bool_)
        once[1:] = held[1:] != held[:-1]
        return np.bincount(held[once] % self._now.size, minlength=self._now.size)
