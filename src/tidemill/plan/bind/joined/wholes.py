"""A SELECT over several windows ⇒ the plan of a join: parts of each side, and how they meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tidemill.catalog import Catalog
from tidemill.durations import render_duration
from tidemill.errors import Place, TidemillError, refuse
from tidemill.language.names import Name
from tidemill.language.statements import CreateQuery, Select, Window
from tidemill.plan.bind.branch import Branch
from tidemill.plan.bind.environment import Environment
from tidemill.plan.bind.joined.conditions import ConditionReader, refuse_mixed, refuse_mixing
from tidemill.plan.bind.joined.instants import (
    Instants,
    NamedWindow,
    common_update,
    instants_of,
    longest_range_us,
)
from tidemill.plan.bind.joined.meeting import Clauses, meeting_of
from tidemill.plan.bind.joined.parts import SideParts, SideText
from tidemill.plan.bind.joined.places import PartPlaces
from tidemill.plan.bind.joined.relations import FromReader
from tidemill.plan.bind.joined.rows import bind_row_join, is_continuous
from tidemill.plan.bind.joined.sides import BoundSide
from tidemill.plan.bind.joined.subqueries import SubqueryReader
from tidemill.plan.bind.scope import Scope, aggregate_calls, place_in
from tidemill.plan.query import WINDOW_END, WINDOW_START, AggregateCall, QueryPlan
from tidemill.plan.relation import JoinedWindows, Relation, Union, WindowOf
from tidemill.plan.row_query import AnyQuery
from tidemill.plan.window_join import JoinSide, WindowJoin, in_words_of_items

BindWhole = Callable[[CreateQuery, Scope, Branch, Environment], QueryPlan]
"""A SELECT without FROM and WHERE, over columns that are there ⇒ its keys, calls and outputs."""

_GROUPS_HINT = "a condition on aggregates goes into HAVING"
_ROWS_HINT = "aggregate them, as COUNT(*), or GROUP BY what is selected"


def bind_window_join(
    query: CreateQuery, catalog: Catalog, environment: Environment, bind_whole: BindWhole
) -> AnyQuery:
    """The plan of a query over several windows, or why it cannot be answered from slices.

    Rows of windows that do not slide are joined one by one.
    """
    reader = FromReader(query, catalog, environment)
    with _in_own_words(reader):
        _refuse_clauses(query.select)
        reader.read()
        scope = reader.scope()
        clauses = _clauses(reader, query.select)
        if is_continuous(query.select, scope):
            return bind_row_join(query, environment, reader, scope, clauses)
        _refuse_soft_changes(query.select)
        _refuse_rows(query.select, scope)
        refuse_mixing(clauses.mixed)
        binder = _JoinBinder(query, environment, reader, scope, clauses)
        return binder.plan(bind_whole)


@contextmanager
def _in_own_words(reader: FromReader) -> Iterator[None]:
    """A refusal inside names columns as the query does."""
    try:
        yield
    except TidemillError as error:
        problem = error.problem
        texts = (problem.primary, problem.detail, problem.hint)
        primary, detail, hint = (in_words_of_items(text, reader.names) for text in texts)
        raise TidemillError(replace(problem, primary=primary, detail=detail, hint=hint)) from None


def _refuse_clauses(select: Select) -> None:
    if select.emit.place is not None:
        refuse(
            "E_NOT_BUILT",
            "EMIT over a join of windows is not built yet",
            hint="leave it out: every window is answered once it closes",
            place=select.emit.place,
        )


def _refuse_soft_changes(select: Select) -> None:
    """Refuses changes of aggregates where no answer is one slide before another."""
    if select.delta and select.is_soft:
        refuse(
            "E_WINDOW",
            f"{select.delta} of aggregates compares answers one slide apart, and no window slides",
            hint="give one a SLIDE: FROM a [RANGE r SLIDE s], b [RANGE t]",
            place=select.delta_place,
        )


def _refuse_rows(select: Select, scope: Scope) -> None:
    """Refuses a list of plain rows: from slices there are groups alone."""
    if select.group_by or select.having is not None:
        return
    trees = (scope.resolve(item.expr, _names_beside_columns(select)) for item in select.items)
    if not any(call for tree in trees for call in aggregate_calls(tree, scope.aggregates)):
        refuse_mixed("a list of the rows of a join", _ROWS_HINT, select.items[0].expr.place)


def _clauses(reader: FromReader, select: Select) -> Clauses:
    """What FROM and WHERE say; EXISTS and IN are sides behind those of FROM."""
    groups = tuple((first, tuple(steps)) for first, steps in reader.groups)
    conditions = ConditionReader(reader.scalars(), reader.items, "WHERE", 0, _GROUPS_HINT)
    where = conditions.read(select.where)
    looks = tuple(map(SubqueryReader(reader).step, select.subqueries))
    return Clauses(groups, where, looks)


@dataclass(frozen=True)
class _JoinBinder:
    query: CreateQuery
    environment: Environment
    reader: FromReader
    scope: Scope  # of the select list
    clauses: Clauses

    def plan(self, bind_whole: BindWhole) -> QueryPlan:
        names = [side.name for side in self._sides]
        meeting = meeting_of(self.clauses, names, self.reader.scalars())
        windows = [self._named(side) for side in self._sides]
        instants = self._instants(windows)
        grouped = self._unjoined(bind_whole, instants.window(longest_range_us(windows)))
        items, signatures = self.reader.items, self.environment.signatures
        places = PartPlaces(meeting, items, signatures, self._giving, self._place_of_call)
        groups = tuple(
            places.group(key, self._place_of_group(n)) for n, key in enumerate(grouped.keys)
        )
        calls = tuple(map(places.call, grouped.aggregates))
        parts, sides = list[QueryPlan](), list[JoinSide]()
        for bound in self._sides:
            window, first = instants.window(bound.window.range_us), len(parts)
            text = SideText.of(places, bound.number)
            parts += SideParts(grouped, bound, text, window, self.environment).parts(first + 1)
            flags = len(meeting.rows.flags[bound.number])
            sides.append(JoinSide(bound.name, window, tuple(range(first, len(parts))), flags))
        join = WindowJoin(meeting.key.types, tuple(sides), meeting.rows.terms, groups, calls)
        tree = JoinedWindows(tuple(_window_of(s, parts) for s in sides), self.reader.names)
        return replace(grouped, relation=tree, tree=tree, parts=tuple(parts), join=join)

    @property
    def _sides(self) -> list[BoundSide]:
        return self.reader.sides

    @property
    def _giving(self) -> list[int]:
        """The sides of FROM that are no semi or anti joins."""
        looked = {s.side for s in (*self.clauses.steps, *self.clauses.looks) if _is_look(s.kind)}
        return [side.number for side in self._sides if side.number not in looked]

    def _named(self, side: BoundSide) -> NamedWindow:
        looks = {step.side for step in self.clauses.looks}
        return NamedWindow(side.name, side.window, side.number not in looks)

    def _instants(self, windows: Sequence[NamedWindow]) -> Instants:
        for side in self._sides:
            if side.stream.face.source.correct_us:
                refuse(
                    "E_NOT_BUILT",
                    f"a join with stream {side.query.select.stream}, whose late rows correct "
                    "answers, is not built yet",
                    hint="leave correct out of the stream, and allow for more lateness",
                    place=side.place,
                )
        instants = instants_of(windows)
        if not instants.leading.is_soft:
            return instants
        update_us = self._update_us()
        return Instants(replace(instants.leading, update_us=update_us))

    def _update_us(self) -> int:
        updates = [side.stream.face.source.update_us for side in self._sides]
        if update_us := common_update(updates):
            return update_us
        shown = [
            f"{s.name} {render_duration(u)}" for s, u in zip(self._sides, updates, strict=True)
        ]
        refuse(
            "E_WINDOW",
            "the streams have no common updates",
            detail=f"updates: {', '.join(shown)}",
            hint="give one window a SLIDE, or make one update a whole number of the others",
            place=self._sides[0].place,
        )

    def _unjoined(self, bind_whole: BindWhole, window: Window) -> QueryPlan:
        """The query over all columns of its sides, as far as its rows are there."""
        select = replace(self.query.select, window=window, joins=(), where=None, subqueries=())
        columns = tuple(self.scope.entries[0].declared.values())
        source = self._sides[0].stream.face.source
        source = replace(
            source, name=self.query.name, columns=columns, time_column="", correct_us=0
        )
        if window.is_soft:
            source = replace(source, update_us=window.update_us)
        branch = Branch(self.query.name, source, columns, "")
        return bind_whole(replace(self.query, select=select), self.scope, branch, self.environment)

    def _place_of_call(self, call: AggregateCall) -> Place | None:
        """Where the text has a call with such an argument; else all of it."""
        select, scalars = self.query.select, self.reader.scalars()
        texts = {scalar.sql for scalar in call.arguments}
        written = [*(item.expr for item in select.items), *(o.expr for o in select.order_by)]
        for expr in (*written, *([select.having] if select.having else [])):
            tree = self.scope.resolve(expr, _names_beside_columns(select))
            for node, function in aggregate_calls(tree, self.scope.aggregates):
                arguments = node.expressions or [node.this]
                if function == call.function and texts & set(map(scalars.normal_text, arguments)):
                    return place_in(expr, node)
        return select.place

    def _place_of_group(self, number: int) -> Place | None:
        written = self.query.select.group_by
        return written[number].place if number < len(written) else None


def _names_beside_columns(select: Select) -> frozenset[str]:
    """What SELECT, HAVING and ORDER BY may name that is no column."""
    aliases = (Name(item.alias) for item in select.items if item.alias)
    return frozenset((WINDOW_START.name, WINDOW_END.name, *aliases))


def _is_look(kind: str) -> bool:
    return kind in ("LEFT SEMI", "LEFT ANTI", "NOT IN")


def _window_of(side: JoinSide, parts: Sequence[QueryPlan]) -> WindowOf:
    trees = tuple(parts[number].tree for number in side.parts)
    below: Relation = trees[0] if len(trees) == 1 else Union(trees)
    return WindowOf(side.name, side.window, below)
