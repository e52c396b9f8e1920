"""What a group of queries needs of the rows: all that sharing them depends on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from tidemill.plan.predicates import Predicate
from tidemill.plan.query import Join, QueryPlan
from tidemill.share.model import specs_of
from tidemill.windows import WindowSpec


@dataclass(frozen=True)
class Needs:
    """Partials per (slice, keys, signature) of one relation, a stream with what it is joined to."""

    stream: str
    joins: tuple[Join, ...]  # those that change the number of rows
    keys: frozenset[str]
    predicates: frozenset[Predicate]
    keeps_all: bool
    windows: frozenset[WindowSpec]
    # Which windows each predicate is asked for with, where that is known.
    asked: frozenset[tuple[Predicate, WindowSpec]] = frozenset()

    @property
    def relation(self) -> tuple[str, tuple[Join, ...]]:
        return self.stream.lower(), self.joins

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            self.stream,
            self.joins,
            self.keys | other.keys,
            self.predicates | other.predicates,
            self.keeps_all or other.keeps_all,
            self.windows | other.windows,
            self.asked | other.asked,
        )


def needs_of(queries: Sequence[QueryPlan]) -> Needs:
    """Of queries that have one relation."""
    first = queries[0]
    predicates = {query.predicate for query in queries}
    return Needs(
        first.stream,
        multiplying(first.joins),
        frozenset(key.scalar.sql for query in queries for key in query.keys),
        frozenset(p for p in predicates if not p.is_true and not p.is_false),
        any(predicate.is_true for predicate in predicates),
        frozenset(spec for query in queries for spec in specs_of(query)),
        frozenset((query.predicate, spec) for query in queries for spec in specs_of(query)),
    )


def multiplying(joins: Iterable[Join]) -> tuple[Join, ...]:
    """The joins that make several rows of one, so that only queries with them can share."""
    return tuple(join for join in joins if join.multiplies)


def together(needs: Iterable[Needs]) -> Needs:
    return reduce(Needs.__or__, needs)
