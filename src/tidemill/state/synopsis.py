"""A synopsis: partials per (slice, keys, signature), for the queries that read them.

A synopsis outlives the queries it was made for. Edges, lanes and predicate bits come and go
with its readers; each is complete from some time on, which says what a newcomer can be
answered from. Its id and its keys never change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from tidemill.aggregates import Lane
from tidemill.plan.joins import in_users_words
from tidemill.plan.predicates import WORD_BITS, Predicate, Reading
from tidemill.plan.query import Key
from tidemill.plan.relation import Relation
from tidemill.windows import BEGINNING_US, Cuts, WindowSpec


@dataclass(frozen=True)
class KeptLane:
    """A lane and the number of its columns in pieces, which no other lane ever gets.

    Pieces from before it had columns may have those of a `source` that it derives from.
    """

    number: int
    lane: Lane
    since_us: int = BEGINNING_US
    source: KeptLane | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"p{self.number}{part}" for part in self.lane.parts)


@dataclass(frozen=True)
class Bit:
    """A predicate and its place in the signature of partial rows.

    Where rows are routed, a bit has edges of its own.
    """

    number: int
    predicate: Predicate
    since_us: int = BEGINNING_US
    cuts: Cuts = field(default_factory=Cuts)


class Partials(Protocol):
    """The columns of partial rows: those of a sub-aggregation, or of a synopsis."""

    @property
    def key_columns(self) -> tuple[str, ...]: ...

    @property
    def signature_columns(self) -> tuple[str, ...]: ...

    @property
    def lanes(self) -> tuple[Lane, ...]: ...

    def lane_columns(self, position: int) -> tuple[str, ...]:
        """Names of the columns that carry the lane at a position of `lanes`."""

    def lane_source(self, position: int) -> KeptLane | None:
        """The lane whose columns older rows have in their place."""


@dataclass(frozen=True)
class Synopsis:
    """Queries of one relation and one set of keys read it.

    A cell is kept once for each signature that its rows have, and a query reads all those
    that hold its predicate; the edges are everybody's. Or, `routed`, it is kept once for each
    predicate that holds, cut at the edges of just the queries that ask for that one.
    """

    id: str
    relation: Relation
    keys: tuple[Key, ...]
    # It has seen every row from then on.
    made_us: int = BEGINNING_US
    kept_lanes: tuple[KeptLane, ...] = ()
    bits: tuple[Bit, ...] = ()
    # From when on rows that satisfy no bit are kept as well; None: they are left out.
    all_since_us: int | None = None
    cuts: Cuts = field(default_factory=Cuts)
    routed: bool = False
    # Bits whose predicate has gone, and when: slices before then still bear them.
    retired: tuple[tuple[int, int], ...] = ()
    next_lane: int = 0

    @property
    def key_columns(self) -> tuple[str, ...]:
        return tuple(f"_k{place}" for place in range(len(self.keys)))

    def key_column(self, key: Key) -> str:
        """The column that holds the values of a query's key."""
        place = next(n for n, mine in enumerate(self.keys) if mine.scalar.sql == key.scalar.sql)
        return f"_k{place}"

    @property
    def key_text(self) -> str:
        """The keys as a user wrote them."""
        text = ", ".join(key.scalar.sql for key in self.keys) or "(one group)"
        return in_users_words(text, self.relation.joins)

    @property
    def signature_columns(self) -> tuple[str, ...]:
        numbers = [bit.number for bit in self.bits] + [number for number, _ in self.retired]
        words = max(numbers, default=-1) // WORD_BITS + 1
        return tuple(f"_s{word}" for word in range(words))

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return tuple(kept.lane for kept in self.kept_lanes)

    def lane_columns(self, position: int) -> tuple[str, ...]:
        return self.kept_lanes[position].columns

    def lane_source(self, position: int) -> KeptLane | None:
        return self.kept_lanes[position].source

    def kept_for(self, wish: Lane) -> KeptLane | None:
        """The lane that tells what is wished: the very one, or one that it derives from.

        Of several the oldest, which is complete for whoever began with it.
        """
        if wish in self._by_lane:
            return self._by_lane[wish]
        sources = (kept for kept in self.kept_lanes if wish.derives_from(kept.lane))
        return min(sources, key=lambda kept: kept.since_us, default=None)

    @cached_property
    def _by_lane(self) -> dict[Lane, KeptLane]:
        return {kept.lane: kept for kept in self.kept_lanes}

    @property
    def all_cuts(self) -> tuple[Cuts, ...]:
        return tuple(bit.cuts for bit in self.bits) if self.routed else (self.cuts,)

    def cuts_of(self, reading: Reading) -> Cuts:
        """The edges of what a query reads."""
        if not self.routed:
            return self.cuts
        return next((b.cuts for b in self.bits if (b.number,) == reading.bits), Cuts())

    @property
    def windows(self) -> tuple[WindowSpec, ...]:
        """The windows at whose edges new rows are cut."""
        return tuple(dict.fromkeys(spec for cuts in self.all_cuts for spec in cuts.windows))

    def bit(self, predicate: Predicate) -> Bit | None:
        return next((bit for bit in self.bits if bit.predicate == predicate), None)

    def with_lanes(self, wishes: Iterable[Lane], since_us: int) -> Synopsis:
        """With lanes that tell all that is wished; new ones are complete from `since_us` on.

        What a reader has begun with stays. Where that was another's, a sketch is kept in its
        place, whose size is bounded; counts of values are not, and what was derived from them
        gets a lane, which older pieces have by way of theirs.
        """
        distinct = tuple(dict.fromkeys(wishes))
        lanes: dict[Lane, KeptLane] = {}
        number = self.next_lane
        for wish in distinct:
            standing = self.kept_for(wish)
            if standing and (standing.lane in distinct or wish.is_sketch):
                lanes[standing.lane] = standing
            elif standing or not any(map(wish.derives_from, distinct)):
                whole_from_us = standing.since_us if standing else since_us
                lanes[wish] = KeptLane(number, wish, whole_from_us, standing)
                number += 1
        return replace(self, kept_lanes=tuple(lanes.values()), next_lane=number)
