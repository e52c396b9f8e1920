"""A join whose keys have numbers: those of the join itself, and those that the query groups by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.answer.joined.folds import SideGroups
from tidemill.answer.joined.inputs import JoinedLanes, SideCells
from tidemill.answer.joined.keys import JoinKeys, QueryKey, code_key, named_groups, number_keys
from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.window_join import SidePlace, WindowJoin

# By number of a key of the query, its value for each group of a side.
Names = Mapping[int, Digit]


@dataclass(frozen=True)
class KeyedJoin:
    """What is the same for all windows of a join."""

    join: WindowJoin
    lanes: JoinedLanes
    sides: tuple[SideCells, ...]
    keys: JoinKeys
    query_keys: tuple[QueryKey, ...]
    groups: tuple[SideGroups, ...]  # by side

    @staticmethod
    def of(join: WindowJoin, lanes: JoinedLanes, sides: Sequence[SideCells]) -> KeyedJoin:
        groups = [side.cells.groups for side in sides]
        keys = number_keys(join.key, groups, [side.cells.group_count for side in sides])
        coded = zip(lanes.keys, join.groups, strict=True)
        return KeyedJoin(
            join,
            lanes,
            tuple(sides),
            keys,
            tuple(code_key(kind, places, groups) for kind, places in coded),
            tuple(
                SideGroups.of(side.cells, numbers, len(join.key), of_join.flags)
                for side, numbers, of_join in zip(sides, keys.numbers, join.sides, strict=True)
            ),
        )

    def named(self, sides: Sequence[int]) -> Sequence[Names]:
        """By side, the keys of the query whose values a term with such sides has from there."""
        named: list[dict[int, Digit]] = [{} for _ in self.sides]
        for number, key in enumerate(self.query_keys):
            place = key.place(sides)
            if place is not None:
                named[place.side][number] = key.digit(key.codes[place])
        return named

    def dense_keys(self) -> DenseKeys | None:
        """The keys that may have rows, if each is one group of the query or all are the same."""
        if any(side.flags for side in self.join.sides):
            return None
        numbers = np.unique(np.concatenate([self._of_term(term.sides) for term in self.join.terms]))
        place = np.full(self.keys.count, -1)
        place[numbers] = np.arange(len(numbers))
        columns = [self._by_key(key, place) for key in self.query_keys]
        codes = [column[numbers] for column in columns if column is not None]
        if len(codes) < len(columns):
            return None
        digits = [key.digit(code) for key, code in zip(self.query_keys, codes, strict=True)]
        if codes and number_rows(digits, len(numbers)).count < len(numbers):
            return None
        groups = named_groups(self.query_keys, codes)
        return DenseKeys(place, numbers < self.keys.met, groups)

    def _of_term(self, sides: Sequence[int]) -> IntArray:
        """The keys that all sides of a term have at some time."""
        return reduce(np.intersect1d, (self.keys.numbers[side] for side in sides))

    def _by_key(self, key: QueryKey, place_of: IntArray) -> IntArray | None:
        """The value of a key of the query by key of the join, if all terms agree on it."""
        codes, places = np.full(self.keys.count, -1), set[SidePlace]()
        for term in self.join.terms:
            place = key.place(term.sides)
            if place is None:
                return None
            places.add(place)
        for place in places:
            numbers = self.keys.numbers[place.side]
            is_live = place_of[numbers] >= 0
            numbers, code = numbers[is_live], key.codes[place][is_live]
            is_new = codes[numbers] < 0
            codes[numbers[is_new]] = code[is_new]
            if not np.array_equal(codes[numbers], code):
                return None
        return codes


@dataclass(frozen=True)
class DenseKeys:
    """Keys of the join without gaps."""

    place: IntArray  # by number of the key; -1: it is left out
    is_met: BoolArray  # by place, whether it may meet other sides: it has no NULL
    groups: pa.Table  # by place, the group of the query; without columns there is one group

    def __len__(self) -> int:
        return len(self.is_met)
