"""Cells of several synopses as those of one, for queries over unions.

A query over a union says of the union's columns what its parts say of those of each source, key
by key and call by call. So the cells of a part's synopsis are cells of the union once keys and
lanes stand at the places of the union's; the answer combines them like pieces of one synopsis.
Signatures stay apart: each part has its own words, and a first word says whose a row is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pyarrow as pa

from tidemill.aggregates import ROWS, Lane, LaneArray, lanes_behind
from tidemill.arrays import BoolArray, IntArray
from tidemill.ids import hash_once
from tidemill.plan.predicates import Reading
from tidemill.plan.query import Key, QueryPlan
from tidemill.plan.relation import Relation
from tidemill.state.cells import Cells, joined
from tidemill.state.synopsis import KeptLane, Synopsis


@hash_once
@dataclass(frozen=True)
class JointReading:
    """The cells of each part that a query reads."""

    readings: tuple[Reading, ...]
    words: tuple[int, ...]  # of the signatures of each part

    def matches(self, signatures: IntArray) -> BoolArray:
        matches, first = np.zeros(len(signatures), dtype=np.bool_), 1
        for number, (reading, words) in enumerate(zip(self.readings, self.words, strict=True)):
            of_part = signatures[:, first : first + words]
            matches |= (signatures[:, 0] == number) & reading.matches(of_part)
            first += words
        return matches


@dataclass(frozen=True)
class JointPart:
    """A synopsis with just the lanes that are read, and where it has the union's keys and lanes."""

    synopsis: Synopsis
    keys: tuple[Key, ...]
    columns: tuple[str, ...]  # of the part, by key of the union
    lanes: tuple[Lane, ...]  # of the part, by lane of the union

    @property
    def coarser(self) -> tuple[str, ...] | None:
        """The columns to roll groups up to, where the union has some of the keys alone."""
        columns = tuple(dict.fromkeys(self.columns))
        return columns if len(columns) < len(self.synopsis.keys) else None

    @property
    def words(self) -> int:
        return len(self.synopsis.signature_columns)

    def cells(self, cells: Cells, number: int, words: Sequence[int]) -> Cells:
        """Cells of the synopsis as cells of the union, of which it is the part of this number."""
        signatures = np.zeros((len(cells.signatures), 1 + sum(words)), np.int64)
        signatures[:, 0] = number
        first = 1 + sum(words[:number])
        signatures[:, first : first + words[number]] = cells.signatures
        return replace(
            cells,
            groups=self._groups(cells.groups),
            signatures=signatures,
            lanes=tuple(self._lane(cells, lane) for lane in self.lanes),
        )

    def _groups(self, groups: pa.Table) -> pa.Table:
        names = [f"_k{place}" for place in range(len(self.keys))]
        columns = [
            groups.column(column).cast(key.slot.type.arrow)
            for column, key in zip(self.columns, self.keys, strict=True)
        ]
        return pa.table(dict(zip(names, columns, strict=True)))

    def _lane(self, cells: Cells, lane: Lane) -> LaneArray:
        kept = self.synopsis.kept_for(lane)
        assert kept is not None  # else no part would read this synopsis
        rows = cells.lanes[self.synopsis.kept_lanes.index(kept)]
        return rows if kept.lane == lane else cast(LaneArray, lane.derived(rows))


@dataclass(frozen=True)
class JointSynopsis:
    """What the queries of one union read of a basis: a synopsis that is nowhere kept."""

    synopsis: Synopsis
    parts: tuple[JointPart, ...]

    @property
    def is_aligned(self) -> bool:
        """True if equal groups are in buckets of one number, where the parts have as many."""
        first = self.parts[0]
        return all(
            (part.columns, len(part.synopsis.keys)) == (first.columns, len(first.synopsis.keys))
            for part in self.parts
        )

    def reading(self, query: QueryPlan, readings: Sequence[Reading]) -> JointReading:
        """The cells of a query whose parts read these."""
        return self.reading_of_parts(readings)

    def reading_of_parts(self, readings: Sequence[Reading]) -> JointReading:
        return JointReading(tuple(readings), self._words)

    def joined(self, cells: Sequence[Cells | None]) -> Cells | None:
        """The cells of all parts that have some."""
        of_parts = enumerate(zip(self.parts, cells, strict=True))
        of_union = [
            part.cells(mine, number, self._words)
            for number, (part, mine) in of_parts
            if mine is not None
        ]
        return joined(of_union) if of_union else None

    @property
    def _words(self) -> tuple[int, ...]:
        return tuple(part.words for part in self.parts)


def joint_synopsis(
    name: str, queries: Sequence[QueryPlan], synopses: Sequence[Synopsis]
) -> JointSynopsis:
    """For queries of one union whose parts read these synopses, in this order."""
    keys = dict[str, tuple[Key, ...]]()
    lanes = dict[Lane, tuple[Lane, ...]]({ROWS: (ROWS,) * len(synopses)})
    for query in queries:
        for place, key in enumerate(query.keys):
            keys.setdefault(key.scalar.sql, (key, *(part.keys[place] for part in query.parts)))
        lanes.update(_lanes(query))
    return assemble_joint(name, queries[0].relation, tuple(keys.values()), lanes, synopses)


def assemble_joint(
    name: str,
    relation: Relation,
    keys: Sequence[tuple[Key, ...]],
    lanes: Mapping[Lane, tuple[Lane, ...]],
    synopses: Sequence[Synopsis],
) -> JointSynopsis:
    """Of keys and lanes: each key is followed by what it is in every part, and so are lanes."""
    wholes = tuple(of_parts[0] for of_parts in keys)
    kept_lanes = tuple(KeptLane(number, lane) for number, lane in enumerate(lanes))
    parts = tuple(
        _part(
            of_part,
            wholes,
            [of_parts[1 + number] for of_parts in keys],
            [of_parts[number] for of_parts in lanes.values()],
        )
        for number, of_part in enumerate(synopses)
    )
    synopsis = Synopsis(name, relation, wholes, kept_lanes=kept_lanes)
    return JointSynopsis(synopsis, parts)


def _lanes(query: QueryPlan) -> Mapping[Lane, tuple[Lane, ...]]:
    """The lanes behind a query's aggregates, and what each is in its parts."""
    by_part = [[lanes_behind(call) for call in part.aggregates] for part in query.parts]
    return {
        lane: tuple(of_part[number][place] for of_part in by_part)
        for number, call in enumerate(query.aggregates)
        for place, lane in enumerate(lanes_behind(call))
    }


def _part(
    synopsis: Synopsis, wholes: tuple[Key, ...], keys: Sequence[Key], lanes: Sequence[Lane]
) -> JointPart:
    read = {synopsis.kept_for(lane) for lane in lanes}
    narrow = replace(
        synopsis, kept_lanes=tuple(kept for kept in synopsis.kept_lanes if kept in read)
    )
    return JointPart(narrow, wholes, tuple(map(synopsis.key_column, keys)), tuple(lanes))
