"""The parts of a join of windows: what the whole query says of a side, said of its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from tidemill.language.statements import Expr, Window
from tidemill.plan.bind.branch import Branch, joins_met, narrowed, source_of, tree_over
from tidemill.plan.bind.clauses import ScalarBinder, predicate_of
from tidemill.plan.bind.environment import Environment
from tidemill.plan.bind.joined.places import PartPlaces
from tidemill.plan.bind.joined.sides import BoundSide
from tidemill.plan.bind.scope import Scope, in_own_words
from tidemill.plan.expressions import Scalar, Slot
from tidemill.plan.query import AggregateCall, Key, QueryPlan
from tidemill.plan.relation import join_all
from tidemill.plan.row_query import part_name

_ALL = Expr("TRUE")


@dataclass(frozen=True)
class SideText:
    """All that the whole query says of a side, as texts over the columns of the whole."""

    where: tuple[str, ...]
    keys: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]

    @staticmethod
    def of(places: PartPlaces, side: int) -> SideText:
        always = places.meeting.rows.always[side]
        return SideText(always, tuple(places.keys[side]), tuple(places.calls[side]))


@dataclass(frozen=True)
class SideParts:
    """Makes the parts of one side, one for each branch of its stream."""

    plan: QueryPlan
    side: BoundSide
    text: SideText
    window: Window
    environment: Environment

    def parts(self, number: int) -> tuple[QueryPlan, ...]:
        """They are numbered from `number`."""
        branches = self.side.stream.branches
        return tuple(self._part(branch, number + n) for n, branch in enumerate(branches))

    def _part(self, branch: Branch, number: int) -> QueryPlan:
        scope, joins, _ = self.side.scope_of(branch, self.environment)
        with in_own_words(scope):
            said = Said(self.side.words(scope), ScalarBinder(scope, self.environment.type_of))
            where = said.where(branch, self.text.where)
            keys = tuple(map(said.scalar, self.text.keys))
            calls = tuple(map(said.call, self.text.aggregates))
            clauses, extent_of = self.side.query.select.joins, self.environment.extent_of
            met = joins_met(branch, joins, self.side.tables, clauses, extent_of)
        return replace(
            self.plan,
            name=part_name(self.plan.name, number),
            part_of=self.plan.name,
            relation=join_all(source_of(branch.source), met.values()),
            tree=tree_over(branch, joins, met),
            window=self.window,
            where=where,
            predicate=predicate_of(where, met.values(), said.scalars.types),
            keys=tuple(Key(Slot(f"_k{n}", key.type), key) for n, key in enumerate(keys)),
            aggregates=tuple(_renumbered(calls)),
            outputs=(),
            having=None,
            order_by=(),
            limit=None,
        )


def _renumbered(calls: Sequence[AggregateCall]) -> Iterator[AggregateCall]:
    for number, call in enumerate(calls):
        yield replace(call, slot=replace(call.slot, name=f"_a{number}"))


@dataclass(frozen=True)
class Said:
    """Says in the words of a branch what is said in those of the whole query."""

    words: Scope
    scalars: ScalarBinder

    def tree(self, text: str) -> exp.Expr:
        return self.words.resolve(Expr(text))

    def scalar(self, text: str) -> Scalar:
        return self.scalars.bind(Expr(text), self.tree(text))

    def call(self, call: AggregateCall) -> AggregateCall:
        argument = None if call.argument is None else self.scalar(call.argument.sql)
        others = tuple(self.scalar(other.sql) for other in call.others)
        return replace(call, argument=argument, others=others)

    def where(self, branch: Branch, texts: Sequence[str]) -> Scalar | None:
        """The conditions, and before them those of the streams that are read."""
        if not texts:
            return None if branch.where is None else self.scalars.bind(_ALL, branch.where)
        tree = reduce(_both, map(self.tree, texts))
        scalar = self.scalars.bind(_ALL, tree)
        if branch.where is None:
            return scalar
        return self.scalars.bind(_ALL, narrowed(branch.where, tree, scalar))


def _both(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.And(this=exp.Paren(this=left), expression=exp.Paren(this=right))
