"""The way from a tick's rows to partials: scans, the feeds of a scan, the tree of each feed.

A scan evaluates expressions and predicates once per row of a relation; one pass may serve
several, which join different tables. A feed is one sub-aggregation of a scan, with partials
per (slice, keys, signature). A node below the feed's
root has fewer keys and is rolled up from its parent; a synopsis hangs at the node of its
keys. None of them has state: a plan may arrange its feeds anew at any tick.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tidemill.aggregates import Lane
from tidemill.plan.expressions import Scalar
from tidemill.plan.predicates import WORD_BITS, Predicate
from tidemill.plan.relation import Relation, merge_relations, multiplying
from tidemill.state.synopsis import Synopsis
from tidemill.windows import EdgeClass, edge_classes


@dataclass(frozen=True)
class Scan:
    """The expressions that one pass works out for each row."""

    relation: Relation
    keys: tuple[Scalar, ...]
    predicates: tuple[Predicate, ...]
    lanes: tuple[Lane, ...]

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        """Every tuple-level expression, each once; of the joins those that may raise."""
        befores = (b for join in self.relation.joins for b in join.befores if b.may_raise)
        residuals = (r for predicate in self.predicates for r in predicate.residuals)
        arguments = (scalar for lane in self.lanes for scalar in lane.arguments)
        return tuple(dict.fromkeys((*befores, *residuals, *self.keys, *arguments)))

    @cached_property
    def values(self) -> tuple[Scalar, ...]:
        """Values that partials are grouped by beside keys; reading puts lanes together again."""
        return tuple(dict.fromkeys(scalar for lane in self.lanes for scalar in lane.by_value))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the stream that are read."""
        inner = (name for scalar in self.scalars for name in scalar.columns)
        compared_with_constants = (
            name for predicate in self.predicates for name in predicate.columns
        )
        joins = self.relation.joins
        compared = (c for join in joins for scalar in join.scalars for c in scalar.columns)
        brought_in = tuple(join.name for join in joins)
        names = dict.fromkeys((*inner, *compared_with_constants, *compared))
        return tuple(name for name in names if not name.startswith(brought_in))

    def bit(self, predicate: Predicate) -> int:
        """The place of a predicate, which is its bit in signatures of the pass."""
        return self._bits[predicate]

    @cached_property
    def _bits(self) -> Mapping[Predicate, int]:
        """To search among hundreds for each of them takes longer than a small tick."""
        return {predicate: place for place, predicate in enumerate(self.predicates)}

    def lane_columns(self, position: int) -> tuple[str, ...]:
        return tuple(f"p{position}{part}" for part in self.lanes[position].parts)

    def lane_source(self, position: int) -> None:
        """Rows of a pass have all their lanes."""


def merge_scans(scans: Iterable[Scan]) -> Scan:
    """One scan that works out what all do; what they scan differs in the tables that are joined."""
    distinct = tuple(dict.fromkeys(scans))
    if len(distinct) == 1:
        return distinct[0]
    keys = {key.sql: key for scan in distinct for key in scan.keys}
    return Scan(
        relation=merge_relations(scan.relation for scan in distinct),
        keys=tuple(keys.values()),
        predicates=tuple(dict.fromkeys(p for scan in distinct for p in scan.predicates)),
        lanes=tuple(dict.fromkeys(lane for scan in distinct for lane in scan.lanes)),
    )


@dataclass(frozen=True)
class FeedNode:
    """A set of keys, as places among the scan's; the parent's set holds it."""

    keys: tuple[int, ...]
    parent: int
    synopses: tuple[str, ...]


@dataclass(frozen=True)
class Feed:
    """`bits` are places among the scan's predicates; `nodes` come parents first."""

    scan: Scan
    bits: tuple[int, ...]
    keeps_all: bool  # rows that satisfy no predicate are read by somebody
    nodes: tuple[FeedNode, ...]
    synopses: tuple[Synopsis, ...]
    pass_number: int = 0  # feeds of one number are made in one pass over the rows

    @property
    def relation(self) -> Relation:
        """The relation of the rows that are aggregated, without tables that leave them as many."""
        if not self.synopses:
            return self.scan.relation.base
        return multiplying(self.synopses[0].relation)

    def over(self, scan: Scan) -> Feed:
        """The same feed of a scan that works out all that its own does, and more."""
        places = {key.sql: place for place, key in enumerate(scan.keys)}
        nodes = (
            replace(node, keys=tuple(sorted(places[self.scan.keys[n].sql] for n in node.keys)))
            for node in self.nodes
        )
        bits = sorted(scan.bit(self.scan.predicates[bit]) for bit in self.bits)
        return replace(self, scan=scan, bits=tuple(bits), nodes=tuple(nodes))

    @property
    def key_columns(self) -> tuple[str, ...]:
        return tuple(f"_f{place}" for place in self.nodes[0].keys)

    def key_column(self, scalar: Scalar) -> str:
        return f"_f{[mine.sql for mine in self.scan.keys].index(scalar.sql)}"

    @property
    def signature_columns(self) -> tuple[str, ...]:
        return tuple(f"_s{word}" for word in range(max(self.bits, default=-1) // WORD_BITS + 1))

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return self.scan.lanes

    def lane_columns(self, position: int) -> tuple[str, ...]:
        return self.scan.lane_columns(position)

    def lane_source(self, position: int) -> None:
        return self.scan.lane_source(position)

    def bit(self, predicate: Predicate) -> int:
        return self.scan.bit(predicate)

    @cached_property
    def by_id(self) -> dict[str, Synopsis]:
        return {synopsis.id: synopsis for synopsis in self.synopses}


def classes_from(synopses: Iterable[Synopsis], watermark_us: int) -> tuple[EdgeClass, ...]:
    """Edges that refine the slices of all of them, for rows from the watermark on."""
    all_cuts = (cuts for synopsis in synopses for cuts in synopsis.all_cuts)
    cuts = (cut for one in all_cuts for cut in one.after(watermark_us).cuts)
    return edge_classes(dict.fromkeys(spec for cut in cuts for spec in cut.windows))
