"""Sets of values of one ordered column: where they begin and end, and whether NULL is in.

Every value has a next one (of a text it is the text and a zero byte), so half-open stretches
are enough, and a set is known by the points at which membership changes. Equal sets are equal
values.

>>> tens = at_least(10) - at_least(20)
>>> 10 in tens, 20 in tens, None in tens
(True, False, False)
>>> (tens | at_least(20)) == at_least(10)
True
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

# An int or bytes, one kind per column; the order of bytes is Spark's order of texts.
CutPoint = Any


@dataclass(frozen=True)
class ValueSet:
    """`starts_in`: the values before the first cut are members; each cut changes that."""

    starts_in: bool
    cuts: tuple[CutPoint, ...]
    with_null: bool

    @property
    def is_empty(self) -> bool:
        return self == NOTHING

    @property
    def is_all(self) -> bool:
        return self == EVERYTHING

    @property
    def stretches(self) -> Iterator[tuple[CutPoint | None, CutPoint | None]]:
        """Members as [low, high) pairs; None for no end on that side."""
        ends = [*([None] if self.starts_in else []), *self.cuts]
        ends += [None] if len(ends) % 2 else []
        return zip(ends[::2], ends[1::2], strict=True)

    def __contains__(self, value: CutPoint | None) -> bool:
        if value is None:
            return self.with_null
        return self.starts_in ^ bool(bisect_right(self.cuts, value) % 2)

    def __and__(self, other: ValueSet) -> ValueSet:
        return _combine(self, other, lambda one, two: one and two)

    def __or__(self, other: ValueSet) -> ValueSet:
        return _combine(self, other, lambda one, two: one or two)

    def __sub__(self, other: ValueSet) -> ValueSet:
        return _combine(self, other, lambda one, two: one and not two)

    def __invert__(self) -> ValueSet:
        return ValueSet(not self.starts_in, self.cuts, not self.with_null)

    def is_disjoint(self, other: ValueSet) -> bool:
        """Asked far more often than any set is built, so without building one."""
        if self.with_null and other.with_null:
            return False
        return not any(other._meets(low, high) for low, high in self.stretches)

    def __le__(self, other: ValueSet) -> bool:
        return self.is_disjoint(~other)

    def _meets(self, low: CutPoint | None, high: CutPoint | None) -> bool:
        """Whether a value from `low` up to, without, `high` is a member."""
        passed = 0 if low is None else bisect_right(self.cuts, low)
        if self.starts_in ^ bool(passed % 2):
            return True
        return passed < len(self.cuts) and bool(high is None or self.cuts[passed] < high)


NOTHING = ValueSet(False, (), False)
EVERYTHING = ValueSet(True, (), True)
NOT_NULL = ValueSet(True, (), False)
NULL_ONLY = ValueSet(False, (), True)


def at_least(cut: CutPoint) -> ValueSet:
    """The values from the cut on."""
    return ValueSet(False, (cut,), False)


def _combine(left: ValueSet, right: ValueSet, keep: Callable[[bool, bool], bool]) -> ValueSet:
    in_one, in_two = left.starts_in, right.starts_in
    starts_in = inside = keep(in_one, in_two)
    ends_of_one, ends_of_two = set(left.cuts), set(right.cuts)
    cuts = []
    for cut in sorted(ends_of_one | ends_of_two):
        in_one ^= cut in ends_of_one
        in_two ^= cut in ends_of_two
        if keep(in_one, in_two) != inside:
            inside = not inside
            cuts.append(cut)
    return ValueSet(starts_in, tuple(cuts), keep(left.with_null, right.with_null))
