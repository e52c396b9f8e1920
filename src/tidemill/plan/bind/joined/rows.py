"""A SELECT of rows over windows that do not slide ⇒ the plan of a continuous join."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from tidemill.errors import Place, refuse
from tidemill.language.names import Name
from tidemill.language.not_built import refuse_unbuilt
from tidemill.language.statements import CreateQuery, Delta, Expr, Select, SelectItem, Window
from tidemill.plan.bind.branch import Branch, joins_met, source_of, tree_over
from tidemill.plan.bind.clauses import (
    ScalarBinder,
    check_output_name,
    column_name,
    predicate_of,
)
from tidemill.plan.bind.environment import Environment
from tidemill.plan.bind.joined.assembly import names_beside_columns
from tidemill.plan.bind.joined.conditions import MixedCondition
from tidemill.plan.bind.joined.meeting import Clauses, Meeting, meeting_of
from tidemill.plan.bind.joined.parts import words_over
from tidemill.plan.bind.joined.relations import FromReader
from tidemill.plan.bind.joined.sides import BoundSide, refuse_corrections, sides_of
from tidemill.plan.bind.scope import Scope, aggregate_calls, in_own_words
from tidemill.plan.builders import OutsideError
from tidemill.plan.expressions import Node, Scalar, Slot
from tidemill.plan.query import Output
from tidemill.plan.relation import (
    JoinedWindows,
    Projection,
    Relation,
    Union,
    WindowOf,
    join_all,
)
from tidemill.plan.row_join import RowJoin, RowSide, RowSlot, bounds_of
from tidemill.plan.row_query import JOIN_SIGN, RowQuery, part_name
from tidemill.plan.typed_trees import slots_by_name, type_known

_SLIDE = "give one window a SLIDE: FROM a [RANGE r SLIDE s], b [RANGE t]"
_KEY = "compare one expression of each window with one of another: WHERE a.k = b.k"
_NAMED_TWICE = "name one of them with AS; {0} and {1} are always there"
_OVER_RESULTS = "combine columns of several windows by arithmetic, comparisons, AND, OR and CASE"
_ONE_BY_ONE = "results leave one by one, in the order of time"


def is_continuous(select: Select, scope: Scope) -> bool:
    """True if rows are selected, and no window slides: each result is told once."""
    windows = (*select.windows, *(look.window for look in select.subqueries if look.window))
    if any(window.slide_us for window in windows) or select.group_by or select.having is not None:
        return False
    trees = (scope.resolve(item.expr, names_beside_columns(select)) for item in select.items)
    return not any(call for tree in trees for call in aggregate_calls(tree, scope.aggregates))


def bind_row_join(
    query: CreateQuery,
    environment: Environment,
    reader: FromReader,
    scope: Scope,
    clauses: Clauses,
) -> RowQuery:
    """The plan, or why the query has no rows that come and go by themselves."""
    _refuse_clauses(query.select)
    _refuse_steps(clauses)
    for side, window in zip(reader.sides, query.select.windows, strict=True):
        _refuse_side(side, window)
    if not clauses.equalities:
        refuse_unbuilt("a cross join row by row", _KEY, query.select.joins[0].place)
    meeting = meeting_of(clauses, [side.name for side in reader.sides], reader.scalars())
    return _RowJoinBinder(query, environment, reader, scope, clauses, meeting).plan()


def _refuse_clauses(select: Select) -> None:
    if select.delta is Delta.NONE and select.delta_place is not None:
        refuse(
            "E_WINDOW",
            "RSTREAM needs a SLIDE: without one it would tell all rows at every instant",
            hint=f"leave it out: each result comes once; or {_SLIDE}",
            place=select.delta_place,
        )
    if select.order_by:
        _refuse_one_by_one("ORDER BY", select.order_by[0].expr.place)
    if select.limit is not None:
        _refuse_one_by_one("LIMIT", select.place)
    if select.distinct:
        refuse_unbuilt("SELECT DISTINCT of results one by one", _SLIDE, select.items[0].expr.place)


def _refuse_one_by_one(clause: str, place: Place | None) -> NoReturn:
    hint = f"leave {clause} out; or {_SLIDE}"
    refuse("E_WINDOW", f"{clause} needs a SLIDE: {_ONE_BY_ONE}", hint=hint, place=place)


def _refuse_steps(clauses: Clauses) -> None:
    for step in (*clauses.steps, *clauses.looks):
        if step.kind != "INNER":
            refuse_unbuilt("a join without SLIDE that is not an inner one", _SLIDE, step.place)


def _refuse_side(side: BoundSide, window: Window) -> None:
    refuse_corrections(side)
    if window.other_ranges_us:
        refuse_unbuilt(
            "a window of several lengths in a join", "write a query for each", side.place
        )


@dataclass
class _SlotBinder:
    """What is read of each side, as texts over the columns of the whole query."""

    reader: FromReader
    scope: Scope
    environment: Environment
    columns: list[list[str]]  # of each side, the join key first
    slots: list[RowSlot] = field(default_factory=list)
    _by_text: dict[tuple[int, str], Slot] = field(default_factory=dict)

    def output(self, name: str, expr: Expr, tree: exp.Expr) -> Output:
        return Output(name, self.node(expr, tree, f"column {name}", expr.place))

    def condition(self, condition: MixedCondition) -> Node:
        return self.node(condition.expr, condition.tree, "a condition on results", condition.place)

    def node(self, expr: Expr, tree: exp.Expr, what: str, place: Place | None) -> Node:
        """What is about one side is worked out for its rows, the rest for results."""
        sides = sides_of(tree, self.reader.items)
        if len(sides) < 2:
            scalar = ScalarBinder(self.scope, self.environment.type_of).bind(expr, tree)
            return self._slot(next(iter(sides), 0), scalar)
        tree = tree.copy().transform(self._to_slot)
        types = {slot.slot.name: slot.slot.type for slot in self.slots}
        try:
            return type_known(tree, slots_by_name(types))
        except OutsideError:
            refuse_unbuilt(f"{what} by a function over results", _OVER_RESULTS, place)

    def _to_slot(self, node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        (side,) = sides_of(node, self.reader.items)
        scalars = ScalarBinder(self.scope, self.environment.type_of)
        return exp.column(self._slot(side, scalars.bind(Expr(node.sql()), node)).name)

    def _slot(self, side: int, scalar: Scalar) -> Slot:
        key = side, scalar.sql
        if key not in self._by_text:
            slot = Slot(f"_r{len(self.slots)}", scalar.type)
            self.slots.append(RowSlot(slot, side, len(self.columns[side])))
            self.columns[side].append(scalar.sql)
            self._by_text[key] = slot
        return self._by_text[key]


@dataclass(frozen=True)
class _RowJoinBinder:
    query: CreateQuery
    environment: Environment
    reader: FromReader
    scope: Scope
    clauses: Clauses
    meeting: Meeting

    def plan(self) -> RowQuery:
        goes = self.query.select.delta is Delta.GONE
        keys = [[s.sql for s in self.meeting.key.of(side.number)] for side in self.reader.sides]
        slots = _SlotBinder(self.reader, self.scope, self.environment, keys)
        outputs = tuple(self._outputs(slots, tuple(slot.name for slot in bounds_of(goes))))
        conditions = tuple(map(slots.condition, self.clauses.mixed))
        parts, sides = list[RowQuery](), list[RowSide]()
        windows = self.query.select.windows  # of each side
        for side, window in zip(self.reader.sides, windows, strict=True):
            first = len(parts)
            for branch in side.stream.branches:
                parts.append(self._part(side, branch, slots.columns[side.number], len(parts) + 1))
            places = tuple(range(first, len(parts)))
            sides.append(RowSide(side.name, window.range_us, places))
        join = RowJoin(
            self.meeting.key.types, tuple(sides), tuple(slots.slots), outputs, conditions, goes
        )
        tree = JoinedWindows(tuple(self._windows(parts, sides)), self.reader.names)
        return RowQuery(
            name=self.query.name,
            relation=tree,
            tree=tree,
            sink=self.query.into,
            where=None,
            predicate=predicate_of(None, (), {}),
            columns=(),
            ordered=True,
            parts=tuple(parts),
            join=join,
        )

    def _outputs(self, slots: _SlotBinder, bounds: tuple[str, ...]) -> Iterator[Output]:
        names, hint = set(map(Name, bounds)), _NAMED_TWICE.format(*bounds)
        for item in self.query.select.items:
            name = column_name(item)
            check_output_name(name, names, item.expr.place, hint)
            names.add(Name(name))
            yield self._output(slots, item, name)

    def _output(self, slots: _SlotBinder, item: SelectItem, name: str) -> Output:
        return slots.output(name, item.expr, self.scope.resolve(item.expr).unnest())

    def _part(self, side: BoundSide, branch: Branch, columns: list[str], number: int) -> RowQuery:
        """What is held of a side over one branch of its stream."""
        words = words_over(side, branch, self.environment)
        with in_own_words(words.scalars.scope):
            where = words.where(self._always(side))
            scalars = tuple(map(words.scalar, columns))
            clauses, extent_of = side.query.select.joins, self.environment.extent_of
            met = joins_met(branch, words.joins, side.tables, clauses, extent_of)
        return RowQuery(
            name=part_name(self.query.name, number, JOIN_SIGN),
            relation=join_all(source_of(branch.source), met.values()),
            tree=tree_over(branch, words.joins, met),
            sink=self.query.into,
            where=where,
            predicate=words.predicate(where, met.values()),
            columns=tuple(Projection(f"_c{n}", scalar) for n, scalar in enumerate(scalars)),
            ordered=True,
            part_of=self.query.name,
            key=self.meeting.key.types,
        )

    def _always(self, side: BoundSide) -> tuple[str, ...]:
        """What the rows of a side pass: none do where conditions leave no term of the join."""
        rows = self.meeting.rows
        return rows.always[side.number] if rows.terms else ("FALSE",)

    def _windows(self, parts: list[RowQuery], sides: list[RowSide]) -> Iterator[WindowOf]:
        for side, window in zip(sides, self.query.select.windows, strict=True):
            trees = tuple(parts[number].tree for number in side.parts)
            below: Relation = trees[0] if len(trees) == 1 else Union(trees)
            yield WindowOf(side.name, window, below)
