"""Sets of values of one column, as points on the number line of its type.

Integers, dates, timestamps, booleans and decimals count in whole steps (days, microseconds,
units of the last digit); texts are their UTF-8 bytes, which is how Spark orders them. FLOAT and
DOUBLE are left out: NaN and the two zeros do not fit on a line.

Every value has a next one (of a text it is the text and a zero byte), so half-open stretches
are enough, and a set is known by the points at which membership changes, and by whether NULL
is in. Equal sets are equal values.

>>> tens = at_least(10) - at_least(20)
>>> 10 in tens, 20 in tens, None in tens
(True, False, False)
>>> (tens | at_least(20)) == at_least(10)
True
>>> from tidemill.types import INT
>>> fast = compared("gt", Decimal("80.5"), INT)
>>> 80 in fast, 81 in fast
(False, True)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

from tidemill.plan.expressions import Value
from tidemill.types import INTEGER_BITS, Type

# An int or bytes, one kind per column; the order of bytes is Spark's order of texts.
CutPoint = Any
_BITS = {**INTEGER_BITS, "DATE": 32, "TIMESTAMP": 64}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne", "same": "same"}


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
        """True if a value from `low` up to, without, `high` is a member."""
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


def has_line(type: Type) -> bool:
    """True if the values of the type are points on a line."""
    return type.is_decimal or type.name in _BITS or type.name in ("BOOLEAN", "STRING")


def compared(op: str, value: Value, type: Type) -> ValueSet:
    """The values `x` of the type for which `x op value` is true."""
    if value is None:
        return NULL_ONLY if op == "same" else NOTHING
    first, after = _at_and_after(value, type)
    not_less, greater = _from(first, type), _from(after, type)
    if op in ("eq", "same"):
        return not_less - greater
    if op == "ne":
        return NOT_NULL - (not_less - greater)
    if op in ("ge", "gt"):
        return not_less if op == "ge" else greater
    return NOT_NULL - (not_less if op == "lt" else greater)


def ends(type: Type) -> tuple[CutPoint, CutPoint | None]:
    """The least and the greatest point of the type's line; texts have no greatest."""
    if type.name == "STRING":
        return b"", None
    if type.name == "BOOLEAN":
        return 0, 1
    if type.is_decimal:
        return 1 - 10**type.precision, 10**type.precision - 1
    half = 1 << _BITS[type.name] - 1
    return -half, half - 1


def decimal_text(point: int, scale: int) -> str:
    """A point of a decimal's line in digits.

    >>> decimal_text(-5, 2)
    '-0.05'
    """
    digits = tuple(map(int, str(abs(point))))
    return f"{Decimal((int(point < 0), digits, -scale)):f}"


def _at_and_after(value: Value, type: Type) -> tuple[CutPoint, CutPoint]:
    """The first points that are not less than the value, and greater."""
    if isinstance(value, str):
        return value.encode(), value.encode() + b"\0"
    if isinstance(value, int | Decimal):
        scaled = Fraction(value) * 10**type.scale
        return ceil(scaled), floor(scaled) + 1
    point = _moment(value)
    return point, point + 1


def _moment(value: Value) -> int:
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MICROSECOND
    if isinstance(value, date):
        return (value - _EPOCH.date()).days
    raise TypeError(f"{value!r} is no point in time")


def _from(cut: CutPoint, type: Type) -> ValueSet:
    """The values from the cut on, where it may lie beyond the ends of the line."""
    least, greatest = ends(type)
    if cut <= least:
        return NOT_NULL
    return NOTHING if greatest is not None and cut > greatest else at_least(cut)
