"""The parts of a join of windows: what the whole query says of a side, said of its source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from sqlglot import exp

from tidemill.language.statements import Expr, Window
from tidemill.plan.bind.branch import Branch, joins_met, narrowed, source_of, tree_over
from tidemill.plan.bind.clauses import ScalarBinder, predicate_of
from tidemill.plan.bind.environment import Environment, Memo
from tidemill.plan.bind.joined.places import PartPlaces
from tidemill.plan.bind.joined.sides import BoundSide
from tidemill.plan.bind.scope import Scope, in_own_words
from tidemill.plan.expressions import Scalar, Slot
from tidemill.plan.joins import JoinTerms
from tidemill.plan.predicates import Predicate
from tidemill.plan.query import AggregateCall, Key, QueryPlan
from tidemill.plan.relation import join_all
from tidemill.plan.row_query import JOIN_SIGN, part_name

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
    memo: Memo  # of queries with the same FROM

    def parts(self, number: int) -> tuple[QueryPlan, ...]:
        """They are numbered from `number`."""
        branches = self.side.stream.branches
        return tuple(self._part(branch, number + n) for n, branch in enumerate(branches))

    def _part(self, branch: Branch, number: int) -> QueryPlan:
        question = ("words", self.side.number, branch)
        words = self.memo.recall(question, lambda: words_over(self.side, branch, self.environment))
        with in_own_words(words.scalars.scope):
            where = words.where(self.text.where)
            keys = tuple(map(words.scalar, self.text.keys))
            calls = tuple(map(words.call, self.text.aggregates))
            clauses, extent_of = self.side.query.select.joins, self.environment.extent_of
            met = joins_met(branch, words.joins, self.side.tables, clauses, extent_of)
        return replace(
            self.plan.part(part_name(self.plan.name, number, JOIN_SIGN)),
            relation=join_all(source_of(branch.source), met.values()),
            tree=tree_over(branch, words.joins, met),
            window=self.window,
            where=where,
            predicate=words.predicate(where, met),
            keys=tuple(Key(Slot(f"_k{n}", key.type), key) for n, key in enumerate(keys)),
            aggregates=tuple(_renumbered(calls)),
        )


def _renumbered(calls: Sequence[AggregateCall]) -> Iterator[AggregateCall]:
    for number, call in enumerate(calls):
        yield replace(call, slot=replace(call.slot, name=f"_a{number}"))


@dataclass(frozen=True)
class BranchWords:
    """Says in the words of a branch what is said in those of the whole query."""

    branch: Branch
    names: Scope
    scalars: ScalarBinder
    joins: tuple[JoinTerms, ...]
    memo: Memo = field(default_factory=Memo, compare=False)

    def tree(self, text: str) -> exp.Expr:
        return self.names.resolve(Expr(text))

    def scalar(self, text: str) -> Scalar:
        return self.memo.recall(
            ("scalar", text), lambda: self.scalars.bind(Expr(text), self.tree(text))
        )

    def call(self, call: AggregateCall) -> AggregateCall:
        argument = None if call.argument is None else self.scalar(call.argument.sql)
        others = tuple(self.scalar(other.sql) for other in call.others)
        return replace(call, argument=argument, others=others)

    def where(self, texts: tuple[str, ...]) -> Scalar | None:
        """The conditions, and before them those of the streams that are read."""
        return self.memo.recall(("where", texts), lambda: self._where(texts))

    def _where(self, texts: tuple[str, ...]) -> Scalar | None:
        before = self.branch.where
        if not texts:
            return None if before is None else self.scalars.bind(_ALL, before)
        tree = reduce(_both, map(self.tree, texts))
        scalar = self.scalars.bind(_ALL, tree)
        if before is None:
            return scalar
        return self.scalars.bind(_ALL, narrowed(before, tree, scalar))

    def predicate(self, where: Scalar | None, met: Iterable[JoinTerms]) -> Predicate:
        """The rows that pass the conditions, and have the partners they must have."""
        terms = tuple(met)
        question = ("predicate", where.sql if where else "", *(join.name for join in terms))
        return self.memo.recall(question, lambda: predicate_of(where, terms, self.scalars.types))


def words_over(side: BoundSide, branch: Branch, environment: Environment) -> BranchWords:
    """The words of one branch of a side."""
    scope, joins = side.scope_of(branch, environment)
    scalars = ScalarBinder(scope, environment.type_of)
    return BranchWords(branch, side.words(scope), scalars, joins)


def _both(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.And(this=exp.Paren(this=left), expression=exp.Paren(this=right))
