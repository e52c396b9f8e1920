"""A predicate in canonical form: what can be said about two of them, and the text of one.

Nothing said is wrong; where opaque conditions are involved it may be less than the truth,
since they are taken to be independent of everything else. The text is SQL that people read:
`port IN (80, 443) AND proto = 'TCP'`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from tidemill.ids import hash_once
from tidemill.language.expressions.trees import parse_tree, to_sql
from tidemill.language.names import quote_name, quote_text
from tidemill.plan.expressions import Scalar, Slot
from tidemill.plan.normal_form import OPPOSITES, opposite
from tidemill.plan.predicates.boxes import Box, Dimension, make_box, meet, primes, without
from tidemill.plan.predicates.values import NOT_NULL, CutPoint, ValueSet, decimal_text
from tidemill.types import BOOLEAN, DATE, STRING, TIMESTAMP, Type

# Pieces looked at before a question of covering is given up as unanswered.
_MOST_PIECES = 2000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# By whether FALSE, TRUE and NULL are members.
_TRUTHS = {
    (False, True, False): "{0}",
    (True, False, False): "NOT {0}",
    (True, True, False): "{0} IS NOT NULL",
    (False, False, True): "{0} IS NULL",
    (False, True, True): "{0} IS NOT FALSE",
    (True, False, True): "{0} IS NOT TRUE",
}


@hash_once
@dataclass(frozen=True)
class Predicate:
    """The rows of a union of boxes; the boxes are all largest ones, so equal means equal."""

    boxes: tuple[Box, ...]

    @property
    def is_true(self) -> bool:
        return self == TRUE

    @property
    def is_false(self) -> bool:
        return self == FALSE

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Every column and opaque condition that is looked at, each once."""
        return tuple(dict.fromkeys(dim for box in self.boxes for dim, _ in box.sides))

    @property
    def residuals(self) -> tuple[Scalar, ...]:
        """The opaque conditions."""
        return tuple(dim for dim in self.dimensions if isinstance(dim, Scalar))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column it takes to evaluate the predicate, by name."""
        own = [dim.name for dim in self.dimensions if isinstance(dim, Slot)]
        inner = [name for residual in self.residuals for name in residual.columns]
        return tuple(sorted({*own, *inner}))

    @cached_property
    def sql(self) -> str:
        """Readable text, true for the same rows."""
        return word_boxes(self.boxes)

    def contains(self, other: Predicate) -> bool:
        """True if every row of the other is surely a row of this one."""
        return all(any(mine.contains(box) for mine in self.boxes) for box in other.boxes)

    def is_disjoint(self, other: Predicate) -> bool:
        """True if surely no row belongs to both."""
        return all(mine.is_disjoint(box) for mine in self.boxes for box in other.boxes)

    def __and__(self, other: Predicate) -> Predicate:
        """May raise `TooManyBoxesError`."""
        both = (meet(mine, box) for mine in self.boxes for box in other.boxes)
        return Predicate(primes(box for box in both if box is not None))

    def __or__(self, other: Predicate) -> Predicate:
        """May raise `TooManyBoxesError`."""
        return Predicate(primes((*self.boxes, *other.boxes)))

    def __str__(self) -> str:
        return self.sql


TRUE = Predicate((Box(),))
FALSE = Predicate(())


def where(dimension: Dimension, allowed: ValueSet) -> Predicate:
    """The rows whose value on one dimension is allowed."""
    box = make_box({dimension: allowed})
    return FALSE if box is None else Predicate((box,))


def is_covered(boxes: Iterable[Box], covers: Sequence[Box]) -> bool:
    """True if the boxes surely lie in the union of the covers."""
    waiting = list(boxes)
    for _ in range(_MOST_PIECES):
        if not waiting:
            return True
        piece = waiting.pop()
        cover = next((each for each in covers if not each.is_disjoint(piece)), None)
        if cover is None:
            return False
        waiting += without(piece, cover)
    return False


def word_boxes(boxes: Sequence[Box]) -> str:
    """The union of the boxes as a condition."""
    if not boxes:
        return "FALSE"
    return " OR ".join(_box(box, alone=len(boxes) == 1) for box in boxes)


def _box(box: Box, alone: bool) -> str:
    if not box.sides:
        return "TRUE"
    texts = [_side(dimension, allowed) for dimension, allowed in box.sides]
    if len(texts) == 1:
        return _any(texts[0]) if alone else _grouped(texts[0])
    return " AND ".join(map(_grouped, texts))


def _side(dimension: Dimension, allowed: ValueSet) -> list[str]:
    """The alternatives of one side."""
    if isinstance(dimension, Scalar):
        return [_condition(dimension, allowed)]
    name = quote_name(dimension.name)
    if dimension.type == BOOLEAN:
        return [_truth(name, allowed)]
    null = [f"{name} IS NULL"] if allowed.with_null else []
    return [*_values(name, dimension, allowed), *null]


def _condition(condition: Scalar, allowed: ValueSet) -> str:
    tree = parse_tree(condition.sql)
    if 1 not in allowed and None not in allowed and type(tree) in OPPOSITES:
        return f"({to_sql(opposite(tree))})"
    return _truth(f"({condition.sql})", allowed)


def _truth(text: str, allowed: ValueSet) -> str:
    return _TRUTHS[0 in allowed, 1 in allowed, None in allowed].format(text)


def _values(name: str, slot: Slot, allowed: ValueSet) -> list[str]:
    if not allowed.starts_in and not allowed.cuts:
        return []
    if not allowed.cuts:
        return [f"{name} IS NOT NULL"]
    outside = list((NOT_NULL - allowed).stretches)
    if all(_is_single(low, high) for low, high in outside):
        return [_members(name, [low for low, _ in outside], slot.type, negated=True)]
    stretches = list(allowed.stretches)
    singles = [low for low, high in stretches if _is_single(low, high)]
    ranges = [pair for pair in stretches if not _is_single(*pair)]
    members = [_members(name, singles, slot.type, negated=False)] if singles else []
    return members + [_range(name, low, high, slot.type) for low, high in ranges]


def _is_single(low: CutPoint | None, high: CutPoint | None) -> bool:
    return low is not None and high == after(low)


def after(cut: CutPoint) -> CutPoint:
    """The next point of the line."""
    return cut + b"\0" if isinstance(cut, bytes) else cut + 1


def _members(name: str, members: list[CutPoint], type: Type, *, negated: bool) -> str:
    texts = [constant(member, type) for member in members]
    if len(texts) == 1:
        return f"{name} {'<>' if negated else '='} {texts[0]}"
    return f"{name} {'NOT ' if negated else ''}IN ({', '.join(texts)})"


def _range(name: str, low: CutPoint | None, high: CutPoint | None, type: Type) -> str:
    bounds = [*_lower(low, type), *_upper(high, type)]
    if [op for op, _ in bounds] == [">=", "<="]:
        return f"{name} BETWEEN {bounds[0][1]} AND {bounds[1][1]}"
    return " AND ".join(f"{name} {op} {text}" for op, text in bounds)


def _lower(cut: CutPoint | None, type: Type) -> list[tuple[str, str]]:
    """The first member, or the value before it where only that can be written."""
    if cut is None:
        return []
    before = _before(cut)
    if isinstance(cut, bytes) and before is not None:
        return [(">", constant(before, type))]
    try:
        return [(">=", constant(cut, type))]
    except OverflowError:
        return [(">", constant(before, type))]


def _upper(cut: CutPoint | None, type: Type) -> list[tuple[str, str]]:
    """The last member where there is one that can be written, else the value after it."""
    if cut is None:
        return []
    before = _before(cut)
    try:
        return [("<", constant(cut, type)) if before is None else ("<=", constant(before, type))]
    except OverflowError:
        return [("<", constant(cut, type))]


def _before(cut: CutPoint) -> CutPoint | None:
    """The point before a cut; before most texts there is none that is next to them."""
    if isinstance(cut, bytes):
        return cut[:-1] if cut.endswith(b"\0") else None
    return cut - 1


def _text(point: bytes) -> str:
    return quote_text(point.decode())


def constant(point: CutPoint, type: Type) -> str:
    """A point of the type's line as a literal of the type."""
    if type == STRING:
        return _text(point)
    if type == DATE:
        return f"DATE '{_EPOCH.date() + timedelta(days=point)}'"
    if type == TIMESTAMP:
        moment = _EPOCH + timedelta(microseconds=point)
        return f"TIMESTAMP '{moment.replace(tzinfo=None)}'"
    return decimal_text(point, type.scale) if type.is_decimal else str(point)


def _any(alternatives: list[str]) -> str:
    return " OR ".join(alternatives)


def _grouped(alternatives: list[str]) -> str:
    return f"({_any(alternatives)})" if len(alternatives) > 1 else alternatives[0]
