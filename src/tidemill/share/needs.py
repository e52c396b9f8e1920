"""The needs of a group of queries: all that sharing between them depends on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from tidemill.plan.predicates import Predicate
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import Relation, join_all
from tidemill.share.model import specs_of
from tidemill.windows import WindowSpec


@dataclass(frozen=True)
class Needs:
    """Partials per (slice, keys, signature) of one relation."""

    relation: Relation  # with just those tables that change the number of rows
    keys: frozenset[str]
    predicates: frozenset[Predicate]
    keeps_all: bool
    windows: frozenset[WindowSpec]
    # The windows that each predicate is asked for with, where that is known.
    predicate_windows: frozenset[tuple[Predicate, WindowSpec]] = frozenset()

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            self.relation,
            self.keys | other.keys,
            self.predicates | other.predicates,
            self.keeps_all or other.keeps_all,
            self.windows | other.windows,
            self.predicate_windows | other.predicate_windows,
        )


def needs_of(queries: Sequence[QueryPlan]) -> Needs:
    """The needs of queries that have one relation."""
    first = queries[0]
    predicates = {query.predicate for query in queries}
    return Needs(
        multiplying(first.relation),
        frozenset(key.scalar.sql for query in queries for key in query.keys),
        frozenset(p for p in predicates if not p.is_true and not p.is_false),
        any(predicate.is_true for predicate in predicates),
        frozenset(spec for query in queries for spec in specs_of(query)),
        frozenset((query.predicate, spec) for query in queries for spec in specs_of(query)),
    )


def multiplying(relation: Relation) -> Relation:
    """The relation with just the joins that make several rows of one, and what they build on.

    Other joins leave the rows as they are, so that queries with and without them can share.
    """
    if all(join.multiplies for join in relation.joins):
        return relation
    by_name = {join.name: join for join in relation.joins}
    names = {join.name for join in relation.joins if join.multiplies}
    while below := {name for each in names for name in by_name[each].builds_on} - names:
        names |= below
    return join_all(relation.base, (by_name[name] for name in names))


def united_needs(needs: Iterable[Needs]) -> Needs:
    """The needs of several groups of one relation, as those of one."""
    return reduce(Needs.__or__, needs)
