"""A join of windows as one plan: what is asked of the whole, and the parts of each side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidemill.durations import render_duration
from tidemill.errors import Place, refuse
from tidemill.language.names import Name
from tidemill.language.statements import CreateQuery, Select, Window
from tidemill.plan.bind.branch import Branch
from tidemill.plan.bind.clauses import with_updates
from tidemill.plan.bind.environment import Environment, Memo
from tidemill.plan.bind.joined.instants import (
    Instants,
    NamedWindow,
    common_update,
    instants_of,
    longest_window,
)
from tidemill.plan.bind.joined.meeting import Clauses, Meeting
from tidemill.plan.bind.joined.parts import SideParts, SideText
from tidemill.plan.bind.joined.places import PartPlaces
from tidemill.plan.bind.joined.relations import FromReader
from tidemill.plan.bind.joined.sides import BoundSide, refuse_corrections
from tidemill.plan.bind.scope import Scope, aggregate_calls, place_in
from tidemill.plan.query import WINDOW_END, WINDOW_START, AggregateCall, QueryPlan
from tidemill.plan.relation import JoinedWindows, Relation, Union, WindowOf
from tidemill.plan.window_join import JoinSide, WindowJoin

BindWhole = Callable[[CreateQuery, Scope, Branch, Environment, Memo], QueryPlan]
"""A SELECT without FROM and WHERE, over columns that are there ⇒ its keys, calls and outputs."""


@dataclass(frozen=True)
class JoinAssembly:
    """Puts the parts of the sides together, and says where the query finds what it asks for."""

    query: CreateQuery
    environment: Environment
    reader: FromReader
    scope: Scope  # of the select list
    clauses: Clauses
    memo: Memo  # of queries with the same FROM

    def plan(self, meeting: Meeting, bind_whole: BindWhole) -> QueryPlan:
        windows = self._windows()
        instants = self._instants(windows)
        grouped = self._unjoined(bind_whole, instants.window(longest_window(windows)))
        items, signatures = self.reader.items, self.environment.signatures
        places = PartPlaces(meeting, items, signatures, self._giving, self._place_of_call)
        groups = tuple(
            places.group(key, self._place_of_group(n)) for n, key in enumerate(grouped.keys)
        )
        calls = tuple(map(places.call, grouped.aggregates))
        parts, sides = list[QueryPlan](), list[JoinSide]()
        for bound, named in zip(self._sides, windows, strict=True):
            window, first = instants.window(named.window), len(parts)
            text = SideText.of(places, bound.number)
            side = SideParts(grouped, bound, text, window, self.environment, self.memo)
            parts += side.parts(first + 1)
            flags = len(meeting.rows.flags[bound.number])
            sides.append(JoinSide(bound.name, window, tuple(range(first, len(parts))), flags))
        join = WindowJoin(meeting.key.types, tuple(sides), meeting.rows.terms, groups, calls)
        pairs = zip(self._sides, sides, strict=True)
        windows_of = tuple(_window_of(bound, side, parts) for bound, side in pairs)
        tree = JoinedWindows(windows_of, self.reader.names)
        return replace(grouped, relation=tree, tree=tree, parts=tuple(parts), join=join)

    @property
    def _sides(self) -> list[BoundSide]:
        return self.reader.sides

    @property
    def _giving(self) -> list[int]:
        """The sides of FROM that are no semi or anti joins."""
        looked = {s.side for s in (*self.clauses.steps, *self.clauses.looks) if _is_look(s.kind)}
        return [side.number for side in self._sides if side.number not in looked]

    def _windows(self) -> list[NamedWindow]:
        """That of each side, as the text has it; those of EXISTS and IN do not count."""
        select = self.query.select
        inner = [subquery.window for subquery in select.subqueries]
        counted = [True] * len(select.windows) + [False] * len(inner)
        pairs = zip(self._sides, (*select.windows, *inner), counted, strict=True)
        return [NamedWindow(s.name, window, c) for s, window, c in pairs if window is not None]

    def _instants(self, windows: Sequence[NamedWindow]) -> Instants:
        for side in self._sides:
            refuse_corrections(side)
        instants = instants_of(windows)
        if not instants.leading.is_soft:
            return instants
        source = replace(self._sides[0].stream.face.source, update_us=self._update_us())
        window = with_updates(replace(self.query.select, window=instants.leading), source).window
        assert window is not None
        return Instants(window)

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
        query, memo = replace(self.query, select=select), self.memo.recall("whole", Memo)
        return bind_whole(query, self.scope, branch, self.environment, memo)

    def _place_of_call(self, call: AggregateCall) -> Place | None:
        """Where the text has a call with such an argument; else all of it."""
        select, scalars = self.query.select, self.reader.scalars()
        texts = {scalar.sql for scalar in call.arguments}
        written = [*(item.expr for item in select.items), *(o.expr for o in select.order_by)]
        for expr in (*written, *([select.having] if select.having else [])):
            tree = self.scope.resolve(expr, names_beside_columns(select))
            for node, function in aggregate_calls(tree, self.scope.aggregates):
                arguments = node.expressions or [node.this]
                if function == call.function and texts & set(map(scalars.normal_text, arguments)):
                    return place_in(expr, node)
        return select.place

    def _place_of_group(self, number: int) -> Place | None:
        written = self.query.select.group_by
        return written[number].place if number < len(written) else None


def names_beside_columns(select: Select) -> frozenset[str]:
    """What SELECT, HAVING and ORDER BY may name that is no column."""
    aliases = (Name(item.alias) for item in select.items if item.alias)
    return frozenset((WINDOW_START.name, WINDOW_END.name, *aliases))


def _is_look(kind: str) -> bool:
    return kind in ("LEFT SEMI", "LEFT ANTI", "NOT IN")


def _window_of(bound: BoundSide, side: JoinSide, parts: Sequence[QueryPlan]) -> WindowOf:
    """What a side reads; beside a union the tables are those of its parts."""
    of_side = [parts[number] for number in side.parts]
    below: Relation = of_side[0].tree
    if bound.stream.is_union:
        met = {join.name: join for part in of_side for join in part.relation.joins}
        branches = bound.stream.branches
        below = Union(tuple(branch.relation(lambda terms: met[terms.name]) for branch in branches))
    return WindowOf(side.name, side.window, below)
