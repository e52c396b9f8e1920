"""Which predicates get a bit of the signature, and how each predicate is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from tidemill.plan.predicates.covers import read_by
from tidemill.plan.predicates.predicate import Predicate
from tidemill.plan.predicates.readings import Reading, Term


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
