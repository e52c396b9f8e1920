"""Predicate covers: which predicates get a bit of the signature, and how the others are read.

A query is read in one term where the bits around it, without bits apart from it, leave nothing
else; otherwise from terms inside it that fill it. Rows with a signature are counted once
whatever terms match, so terms may overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count

from tidemill.plan.predicates.boxes import Box, TooManyBoxesError, without
from tidemill.plan.predicates.predicate import TRUE, Predicate, is_covered
from tidemill.plan.predicates.signatures import ALL_ROWS, NO_ROWS, Reading, Term

Bits = Mapping[int, Predicate]
# A rule of more terms than this says less than a bit of its own would.
MOST_TERMS = 16


@dataclass(frozen=True)
class Assignment:
    """The bits of the signature, and the reading of every predicate that was asked for."""

    bits: Mapping[int, Predicate]
    readings: Mapping[Predicate, Reading]


def assign_bits(
    predicates: Iterable[Predicate],
    standing: Mapping[int, Predicate] | None = None,
    blocked: Collection[int] = (),
) -> Assignment:
    """Bits for the predicates that the others do not cover.

    Bits in `taken` stay as they are and are read where they serve; the numbers in `blocked`
    are given to nobody. The same arguments give the same numbers.
    """
    bits = dict(standing or {})
    distinct = list(dict.fromkeys(predicates))
    new = [each for each in distinct if read_by(each, bits) is None]
    numbers = _free_numbers({*bits, *blocked})
    for predicate in _uncovered(new, bits):
        bits[next(numbers)] = predicate
    return Assignment(bits, {each: _reading(each, bits) for each in distinct})


def assign_own_bits(
    predicates: Iterable[Predicate],
    standing: Mapping[int, Predicate] | None = None,
    blocked: Collection[int] = (),
    routed: bool = False,
) -> Assignment:
    """A bit for every distinct predicate: what there is without covers.

    TRUE needs one only where rows are `routed`, kept once for each predicate that holds.
    """
    bits, readings = dict(standing or {}), {}
    numbered = {bits[number]: number for number in sorted(bits, reverse=True)}
    numbers = _free_numbers({*bits, *blocked})
    for predicate in dict.fromkeys(predicates):
        if predicate.is_false or (predicate.is_true and not routed):
            readings[predicate] = _reading(predicate, {})
            continue
        if predicate not in numbered:
            numbered[predicate] = next(numbers)
            bits[numbered[predicate]] = predicate
        readings[predicate] = Reading((Term(1 << numbered[predicate]),))
    return Assignment(bits, readings)


def _uncovered(new: list[Predicate], bits: Mapping[int, Predicate]) -> list[Predicate]:
    """The new predicates without those that the rest of them, with the bits kept, cover.

    The more involved ones go first. What a reading leans on stays.
    """
    first = max(bits, default=-1) + 1
    tried = {**bits, **dict(enumerate(new, start=first))}
    leant_on: set[int] = set()
    for number in sorted(set(tried) - set(bits), key=lambda bit: (_effort(tried[bit]), -bit)):
        if number in leant_on:
            continue
        rest = {bit: each for bit, each in tried.items() if bit != number}
        if (reading := read_by(tried[number], rest)) is not None:
            leant_on.update(reading.bits)
            tried = rest
    return [tried[number] for number in sorted(set(tried) - set(bits))]


def _effort(predicate: Predicate) -> tuple[int, int, int]:
    """Smallest for the predicates of the most boxes, sides and cuts."""
    sides = [allowed for box in predicate.boxes for _, allowed in box.sides]
    return -len(predicate.boxes), -len(sides), -sum(len(allowed.cuts) for allowed in sides)


def _free_numbers(used: Collection[int]) -> Iterator[int]:
    return (number for number in count() if number not in used)


def _reading(predicate: Predicate, bits: Mapping[int, Predicate]) -> Reading:
    found = read_by(predicate, bits)
    if found is None:
        raise AssertionError(f"no reading for {predicate}")
    return found


def read_by(query: Predicate, bits: Bits) -> Reading | None:
    """The reading of the query from the bits: one term if possible, None if there is none."""
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
    """True if the inside, less what is apart, holds no more than the query."""
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
    """The boxes less the covers; nothing if that is in too many pieces."""
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
