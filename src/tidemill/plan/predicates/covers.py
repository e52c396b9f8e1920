"""Predicate covers: answering a query from the bits that other queries keep.

A query is read in one term where the bits around it, without bits apart from it, leave nothing
else; otherwise from terms inside it that fill it. Rows with a signature are counted once
whatever terms match, so terms may overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from tidemill.plan.predicates.boxes import Box, TooManyBoxesError, without
from tidemill.plan.predicates.predicate import TRUE, Predicate, is_covered
from tidemill.plan.predicates.readings import ALL_ROWS, NO_ROWS, Reading, Term

Bits = Mapping[int, Predicate]
# A rule of more terms than this says less than a bit of its own would.
MOST_TERMS = 16


def read_by(query: Predicate, bits: Bits) -> Reading | None:
    """How the query is read from the bits: in one term if possible, None if not at all."""
    if query.is_true or query.is_false:
        return ALL_ROWS if query.is_true else NO_ROWS
    equal = [bit for bit in sorted(bits) if bits[bit] == query]
    term = Term(1 << equal[0]) if equal else _term_around(query, query, bits)
    return Reading((term,)) if term else _several_terms(query, bits)


def _term_around(core: Predicate, query: Predicate, bits: Bits) -> Term | None:
    """The tightest term around the core, in its shortest form, if it stays in the query."""
    around = [bit for bit in sorted(bits) if bits[bit].contains(core)]
    try:
        inside = _all_of(around, bits)
    except TooManyBoxesError:
        return None
    apart = [] if query.contains(inside) else _apart(core, inside, bits)
    if not _stays_in(query, inside, apart, bits):
        return None
    apart = _needed(apart, lambda kept: _stays_in(query, inside, kept, bits))
    around = _needed(around, lambda kept: _stays_in(query, _all_of(kept, bits), apart, bits))
    return Term(_mask(around), _mask(apart))


def _all_of(chosen: Sequence[int], bits: Bits) -> Predicate:
    return reduce(Predicate.__and__, (bits[bit] for bit in chosen), TRUE)


def _apart(core: Predicate, inside: Predicate, bits: Bits) -> list[int]:
    """Bits that hold for no row of the core, but for some of those around it."""
    return [
        bit
        for bit in sorted(bits)
        if bits[bit].is_disjoint(core) and not bits[bit].is_disjoint(inside)
    ]


def _stays_in(query: Predicate, inside: Predicate, apart: Sequence[int], bits: Bits) -> bool:
    """Whether what is inside, without what is apart, is no more than the query."""
    others = [box for bit in apart for box in bits[bit].boxes]
    return is_covered(inside.boxes, [*query.boxes, *others])


def _needed(chosen: list[int], holds: Callable[[list[int]], bool]) -> list[int]:
    """The chosen bits without those that are not needed, the newest left out first."""
    for bit in reversed(chosen):
        fewer = [other for other in chosen if other != bit]
        if _surely(holds, fewer):
            chosen = fewer
    return chosen


def _surely(holds: Callable[[list[int]], bool], chosen: list[int]) -> bool:
    try:
        return holds(chosen)
    except TooManyBoxesError:
        return False


@dataclass(frozen=True)
class _Part:
    """A term inside a query, and rows of the query that it reads for sure."""

    term: Term
    rows: Predicate


def _several_terms(query: Predicate, bits: Bits) -> Reading | None:
    parts = [_Part(Term(1 << bit), bits[bit]) for bit in sorted(bits) if query.contains(bits[bit])]
    parts += _parts(query.boxes, query, bits) if len(query.boxes) > 1 else []
    rest = _outside(query.boxes, [box for part in parts for box in part.rows.boxes])
    parts = _largest([*parts, *_parts(rest, query, bits)])
    if not _fill(query, parts):
        return None
    for part in reversed(parts):
        fewer = [other for other in parts if other != part]
        parts = fewer if _fill(query, fewer) else parts
    return Reading(tuple(part.term for part in parts)) if len(parts) <= MOST_TERMS else None


def _parts(boxes: Sequence[Box], query: Predicate, bits: Bits) -> list[_Part]:
    """Terms around single boxes of a query."""
    cores = [Predicate((box,)) for box in boxes]
    terms = [(_term_around(core, query, bits), core) for core in cores]
    return [_Part(term, core) for term, core in terms if term is not None]


def _outside(boxes: Sequence[Box], covers: Sequence[Box]) -> Sequence[Box]:
    """What the covers leave of the boxes; nothing if that is in too many pieces."""
    left = list(boxes)
    for cover in covers:
        left = [piece for box in left for piece in without(box, cover)]
        if len(left) > MOST_TERMS:
            return ()
    return left


def _largest(parts: list[_Part]) -> list[_Part]:
    """The parts that lie in no other one; of equal ones the first."""
    largest: list[_Part] = []
    for part in parts:
        if not any(other.rows.contains(part.rows) for other in largest):
            largest = [other for other in largest if not part.rows.contains(other.rows)] + [part]
    return largest


def _fill(query: Predicate, parts: Sequence[_Part]) -> bool:
    return is_covered(query.boxes, [box for part in parts for box in part.rows.boxes])


def _mask(bits: Sequence[int]) -> int:
    return sum(1 << bit for bit in bits)
