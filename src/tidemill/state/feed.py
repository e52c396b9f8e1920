"""How a tick's rows become partials: scans, the feeds of a scan, and the tree of each feed.

A scan evaluates expressions and predicates once per row. A feed is one sub-aggregation of
it, with partials per (slice, keys, signature) that Catalyst makes. A node below the feed's
root has fewer keys and is rolled up from its parent; a synopsis hangs at the node of its
keys. None of them has state: a plan may arrange its feeds anew at any tick.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from tidemill.aggregates import Lane
from tidemill.plan.expressions import Scalar
from tidemill.plan.predicates import WORD_BITS, Predicate
from tidemill.plan.relation import Relation
from tidemill.state.synopsis import Synopsis
from tidemill.windows import EdgeClass, edge_classes


@dataclass(frozen=True)
class Scan:
    """What one pass over the rows works out for each of them."""

    relation: Relation
    keys: tuple[Scalar, ...]
    predicates: tuple[Predicate, ...]
    lanes: tuple[Lane, ...]

    @property
    def multiplies(self) -> bool:
        """Whether a row of the stream may be several here, so that it cannot be counted."""
        return any(join.multiplies for join in self.relation.joins)

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        """Every tuple-level expression, each once; of the joins those that may raise."""
        befores = (b for join in self.relation.joins for b in join.befores if b.may_raise)
        residuals = (r for predicate in self.predicates for r in predicate.residuals)
        arguments = (scalar for lane in self.lanes for scalar in lane.arguments)
        return tuple(dict.fromkeys((*befores, *residuals, *self.keys, *arguments)))

    @cached_property
    def values(self) -> tuple[Scalar, ...]:
        """What partials are grouped by beside the keys; lanes are put together again when read."""
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

    def lane_columns(self, position: int) -> tuple[str, ...]:
        return tuple(f"p{position}{part}" for part in self.lanes[position].parts)

    def lane_source(self, position: int) -> None:
        """Rows of a pass have all their lanes."""


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
        return self.scan.predicates.index(predicate)

    @cached_property
    def by_id(self) -> dict[str, Synopsis]:
        return {synopsis.id: synopsis for synopsis in self.synopses}


def classes_from(synopses: Iterable[Synopsis], watermark_us: int) -> tuple[EdgeClass, ...]:
    """Edges that refine the slices of all of them, for rows from the watermark on."""
    all_cuts = (cuts for synopsis in synopses for cuts in synopsis.all_cuts)
    cuts = (cut for one in all_cuts for cut in one.after(watermark_us).cuts)
    return edge_classes(dict.fromkeys(spec for cut in cuts for spec in cut.windows))
