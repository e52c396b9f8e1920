"""The synopses behind a join of windows, side by side.

The parts of a side are read as one synopsis, as those of a union are. What the query groups by
and the lanes that it needs stand at places of the sides.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tidemill.aggregates import ROWS, Lane, lanes_behind
from tidemill.answer.joint import JointPart, JointReading, JointSynopsis, assemble_joint
from tidemill.arrays import BoolArray, IntArray
from tidemill.ids import hash_once
from tidemill.plan.predicates import Reading
from tidemill.plan.query import QueryPlan
from tidemill.plan.window_join import Among, JoinSide, SidePlace, WindowJoin
from tidemill.state.cells import Cells
from tidemill.state.synopsis import KeptLane, Synopsis


@hash_once
@dataclass(frozen=True)
class JoinedReading:
    """What a query reads of each side: which cells, and how long before the ends of its windows."""

    sides: tuple[JointReading, ...]
    ranges_us: tuple[int, ...]

    def matches(self, signatures: IntArray) -> BoolArray:
        """Cells of the join are made of just those that it reads."""
        return np.ones(len(signatures), np.bool_)


@dataclass(frozen=True)
class JoinedSynopsis:
    """What queries with one way of joining read of a basis: a synopsis that is nowhere kept.

    `lanes` has the place of each of its lanes in the synopsis of a side; rows of the join are
    nobody's.
    """

    synopsis: Synopsis
    join: WindowJoin
    sides: tuple[JointSynopsis, ...]
    lanes: tuple[SidePlace | None, ...]

    def reading(self, query: QueryPlan, readings: Sequence[Reading]) -> JoinedReading:
        """What a query reads whose parts read these cells."""
        join = _join_of(query)
        return JoinedReading(
            tuple(
                synopsis.reading_of_parts([readings[part] for part in side.parts])
                for synopsis, side in zip(self.sides, join.sides, strict=True)
            ),
            tuple(side.window.range_us for side in join.sides),
        )

    @property
    def parts(self) -> tuple[JointPart, ...]:
        """By number of the part."""
        numbers = [part for side in self.join.sides for part in side.parts]
        parts = [part for side in self.sides for part in side.parts]
        return tuple(parts[numbers.index(number)] for number in range(len(parts)))

    def cells(self, by_part: Sequence[Cells | None]) -> list[Cells | None]:
        """The cells of each side, of those of its parts."""
        return [
            synopsis.joined([by_part[part] for part in side.parts])
            for synopsis, side in zip(self.sides, self.join.sides, strict=True)
        ]

    @property
    def is_aligned(self) -> bool:
        """True if all rows of a group of the query are in buckets of one number, where the parts
        have as many: the parts have the join key alone, and the query groups by it."""
        places = tuple(f"_k{place}" for place in range(len(self.join.key)))
        by_key = all(
            (part.columns, len(part.synopsis.keys)) == (places, len(places))
            for side in self.sides
            for part in side.parts
        )
        return by_key and self._groups_by_key and not self._looks_around

    @property
    def _groups_by_key(self) -> bool:
        first = [groups[0] for groups in self.join.groups]
        surely = {place.place for place in first if self._is_everywhere(place.side)}
        return bool(self.join.key) and surely >= set(range(len(self.join.key)))

    def _is_everywhere(self, side: int) -> bool:
        return all(term.rows[side] is not None for term in self.join.terms)

    @property
    def _looks_around(self) -> bool:
        """True if rows under other keys matter."""
        guards = (guard for term in self.join.terms for guard in term.guards)
        return any(guard.among is not Among.KEY for guard in guards)


def joined_synopsis(
    name: str, queries: Sequence[QueryPlan], synopses: Sequence[Synopsis]
) -> JoinedSynopsis:
    """For queries that are joined alike, whose parts read these synopses, in this order."""
    first, join = queries[0], _join_of(queries[0])
    lanes = [_side_lanes(number, side, queries) for number, side in enumerate(join.sides)]
    sides = tuple(
        _side(f"{name}.{side.name}", side, first, of_side, synopses)
        for side, of_side in zip(join.sides, lanes, strict=True)
    )
    places: dict[Lane, SidePlace | None] = {ROWS: None}
    for number, of_side in enumerate(lanes):
        for place, lane in enumerate(of_side):
            places.setdefault(lane, SidePlace(number, place))
    kept_lanes = tuple(KeptLane(number, lane) for number, lane in enumerate(places))
    synopsis = Synopsis(name, first.relation, first.keys, kept_lanes=kept_lanes)
    return JoinedSynopsis(synopsis, join, sides, tuple(places.values()))


def way_of_joining(query: QueryPlan) -> Hashable:
    """Queries of one way differ in their windows, conditions and aggregates, and can be answered
    from the same cells of the same sides."""
    join = _join_of(query)
    keys = tuple((part.relation, tuple(k.scalar.sql for k in part.keys)) for part in query.parts)
    sides = tuple(side.parts for side in join.sides)
    return keys, sides, join.key, join.terms, join.groups, query.keys


def _join_of(query: QueryPlan) -> WindowJoin:
    assert query.join is not None  # those without are answered from other synopses
    return query.join


def _side(
    name: str,
    side: JoinSide,
    query: QueryPlan,
    lanes: Mapping[Lane, tuple[Lane, ...]],
    synopses: Sequence[Synopsis],
) -> JointSynopsis:
    parts = [query.parts[part] for part in side.parts]
    keys = [(key, *(part.keys[place] for part in parts)) for place, key in enumerate(parts[0].keys)]
    of_side = [synopses[part] for part in side.parts]
    return assemble_joint(name, parts[0].relation, keys, lanes, of_side)


def _side_lanes(
    number: int, side: JoinSide, queries: Sequence[QueryPlan]
) -> dict[Lane, tuple[Lane, ...]]:
    """The lanes behind aggregates over a side, and what each is in its parts; first its rows."""
    lanes: dict[Lane, tuple[Lane, ...]] = {ROWS: (ROWS,) * len(side.parts)}
    for query in queries:
        for call, where in zip(query.aggregates, _join_of(query).calls, strict=True):
            if where is None or where.side != number:
                continue
            calls = [query.parts[part].aggregates[where.place] for part in side.parts]
            by_part = zip(*map(lanes_behind, calls), strict=True)
            lanes |= dict(zip(lanes_behind(call), by_part, strict=True))
    return lanes
