"""Makes and changes synopses, so that they have the edges, lanes and bits of their readers.

What is added to a synopsis under way holds from a boundary on. The boundary is an edge beyond
every time seen so far, so a newcomer's first window is known at once and no other query changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidemill.aggregates import ROWS
from tidemill.plan.predicates import (
    Assignment,
    Predicate,
    Reading,
    assign_bits,
    assign_own_bits,
)
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import merge_relations
from tidemill.share.model import cut_specs_of, lanes_of
from tidemill.state.synopsis import Bit, Synopsis
from tidemill.windows import BEGINNING_US, END_US, Cuts, WindowSpec


@dataclass(frozen=True)
class StreamPosition:
    """The times that a stream has come to when its plan changes."""

    newest_us: int | None = None
    watermark_us: int | None = None
    complete_from: Mapping[str, int] = field(default_factory=dict)  # by synopsis

    @property
    def fresh_from_us(self) -> int:
        """The time from which on a synopsis made now sees every row."""
        return BEGINNING_US if self.newest_us is None else self.newest_us + 1


@dataclass(frozen=True)
class FittedSynopsis:
    """A synopsis as its readers need it, and how each of them reads its bits."""

    synopsis: Synopsis
    readings: Mapping[str, Reading]


def new_synopsis(
    number: int,
    queries: Sequence[QueryPlan],
    position: StreamPosition,
    covers: bool = True,
    routed: bool = False,
) -> FittedSynopsis:
    """A synopsis for queries of one relation and one set of keys."""
    first = queries[0]
    distinct = {key.scalar.sql: key for key in reversed(first.keys)}
    keys = tuple(distinct[text] for text in sorted(distinct))
    empty = Synopsis(f"s{number}", first.relation.base, keys, position.fresh_from_us)
    return fit_synopsis(replace(empty, routed=routed), {}, queries, position, covers)


def fit_synopsis(
    synopsis: Synopsis,
    readings: Mapping[QueryPlan, Reading],
    newcomers: Sequence[QueryPlan],
    position: StreamPosition,
    covers: bool = True,
) -> FittedSynopsis:
    """The synopsis with just the edges, lanes and bits that its readers need.

    `readings` are those of the queries that stay, and do not change.
    """
    # A window that begins after all that was seen has none of its rows missing.
    since_us = position.fresh_from_us if synopsis.cuts.cuts or synopsis.bits else BEGINNING_US
    readers = (*readings, *newcomers)
    lanes = (lane for query in readers for lane in lanes_of(query))
    relation = merge_relations(query.relation for query in readers)
    widened = replace(synopsis, relation=relation).with_lanes((ROWS, *lanes), since_us)
    retired = _still_retired(synopsis, position)
    assigned = _assigned(synopsis, newcomers, retired, covers)
    added = {query.name: assigned.readings[query.predicate] for query in newcomers}
    everyone = {**readings, **{query: added[query.name] for query in newcomers}}
    signed = _with_bits(widened, assigned.bits, tuple(everyone.values()), since_us, retired)
    return FittedSynopsis(_recut(signed, everyone, position), added)


def _assigned(
    synopsis: Synopsis,
    newcomers: Sequence[QueryPlan],
    retired: tuple[tuple[int, int], ...],
    covers: bool,
) -> Assignment:
    assigned = {bit.number: bit.predicate for bit in synopsis.bits}
    blocked = [number for number, _ in retired]
    predicates = [query.predicate for query in newcomers]
    if covers and not synopsis.routed:
        return assign_bits(predicates, assigned, blocked)
    return assign_own_bits(predicates, assigned, blocked, synopsis.routed)


def _recut(
    synopsis: Synopsis, readings: Mapping[QueryPlan, Reading], position: StreamPosition
) -> Synopsis:
    """With the edges of everybody, or for each bit those of the queries that read it."""

    def recut(cuts: Cuts, queries: Iterable[QueryPlan]) -> Cuts:
        live = cuts.after(_oldest_us(synopsis, position))
        return live.recut(_windows(queries), position.newest_us)

    if not synopsis.routed:
        return replace(synopsis, cuts=recut(synopsis.cuts, readings))
    by_bit: dict[int, list[QueryPlan]] = {}
    for query, reading in readings.items():
        for number in reading.bits:
            by_bit.setdefault(number, []).append(query)
    bits = tuple(replace(bit, cuts=recut(bit.cuts, by_bit[bit.number])) for bit in synopsis.bits)
    return replace(synopsis, bits=bits)


def _windows(queries: Iterable[QueryPlan]) -> tuple[WindowSpec, ...]:
    return tuple(dict.fromkeys(spec for query in queries for spec in cut_specs_of(query)))


def complete_since(
    synopsis: Synopsis, query: QueryPlan, reading: Reading, position: StreamPosition
) -> int:
    """The time from which on the synopsis has all that the query needs."""
    bits = {bit.number: bit.since_us for bit in synopsis.bits}
    times = [synopsis.made_us, position.complete_from.get(synopsis.id, BEGINNING_US)]
    times += [bits[number] for number in reading.bits]
    lanes = (synopsis.kept_for(lane) for lane in lanes_of(query))
    times += [kept.since_us if kept else END_US for kept in lanes]
    if reading.terms:
        times += [synopsis.cuts_of(reading).since(spec) for spec in cut_specs_of(query)]
    if reading.needs_all and synopsis.all_since_us is not None:
        times.append(synopsis.all_since_us)
    return max(times)


def first_window(spec: WindowSpec, since_us: int, watermark_us: int | None) -> int:
    """Start of the first window that is complete and still open."""
    first_us = since_us
    if watermark_us is not None:
        first_us = max(since_us, watermark_us - spec.range_us + 1)
    return first_us if first_us == BEGINNING_US else spec.first_start_after(first_us - 1)


def _with_bits(
    synopsis: Synopsis,
    predicates: Mapping[int, Predicate],
    readings: Sequence[Reading],
    since_us: int,
    retired: tuple[tuple[int, int], ...],
) -> Synopsis:
    """The bits that some reader looks at; others are retired."""
    present = {bit.number: bit for bit in synopsis.bits}
    used = {number for reading in readings for number in reading.bits}
    bits = tuple(
        present.get(number) or Bit(number, predicates[number], since_us) for number in sorted(used)
    )
    newly_retired = tuple((number, since_us) for number in present if number not in used)
    since = since_us if synopsis.all_since_us is None else synopsis.all_since_us
    needs_all = not synopsis.routed and any(reading.needs_all for reading in readings)
    return replace(
        synopsis,
        bits=bits,
        retired=() if since_us == BEGINNING_US else (*retired, *newly_retired),
        all_since_us=since if needs_all else None,
    )


def _oldest_us(synopsis: Synopsis, position: StreamPosition) -> int:
    """No slice before this time is read again or cut anew. The next slice may lie later still."""
    if position.newest_us is None:
        return BEGINNING_US
    return min(position.complete_from.get(synopsis.id, BEGINNING_US), position.newest_us)


def _still_retired(synopsis: Synopsis, position: StreamPosition) -> tuple[tuple[int, int], ...]:
    """Bits that slices still bear; a number is used again only once those have expired."""
    expired_us = position.complete_from.get(synopsis.id, BEGINNING_US)
    return tuple((number, when) for number, when in synopsis.retired if when > expired_us)
