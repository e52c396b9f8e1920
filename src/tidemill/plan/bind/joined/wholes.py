"""A SELECT over several windows ⇒ the plan of a join, or why it cannot be answered from slices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tidemill.catalog import Catalog
from tidemill.errors import TidemillError, refuse
from tidemill.language.not_built import refuse_unbuilt
from tidemill.language.statements import CreateQuery, JoinClause, Select, Window
from tidemill.plan.bind.environment import Environment, Memo
from tidemill.plan.bind.joined.assembly import BindWhole, JoinAssembly, names_beside_columns
from tidemill.plan.bind.joined.conditions import ConditionReader, refuse_mixing
from tidemill.plan.bind.joined.meeting import Clauses, Meeting, meeting_of
from tidemill.plan.bind.joined.relations import FromRead, FromReader
from tidemill.plan.bind.joined.rows import bind_row_join, is_continuous
from tidemill.plan.bind.joined.subqueries import SubqueryReader
from tidemill.plan.bind.scope import Scope, aggregate_calls
from tidemill.plan.row_query import AnyQuery
from tidemill.plan.window_join import in_words_of_items

_GROUPS_HINT = "a condition on aggregates goes into HAVING"
_ROWS_HINT = "aggregate them, as COUNT(*), or GROUP BY what is selected"
_SOME = Window(0, 0)  # in place of any


def bind_window_join(
    query: CreateQuery, catalog: Catalog, environment: Environment, bind_whole: BindWhole
) -> AnyQuery:
    """The plan of a query over several windows: rows of windows that do not slide are joined one
    by one, all others are answered from slices."""
    _refuse_emit(query.select)
    try:
        return _bind(query, catalog, environment, bind_whole)
    except TidemillError:
        # What is recalled of other queries has the places of their texts.
        return _bind(query, catalog, replace(environment, memo=Memo()), bind_whole)


def _bind(
    query: CreateQuery, catalog: Catalog, environment: Environment, bind_whole: BindWhole
) -> AnyQuery:
    select = query.select
    memo = environment.memo.recall(_from_question(select, catalog), Memo)
    reader = FromReader(query, catalog, environment)
    with _in_own_words(reader):
        reader = reader.after(memo.recall("from", reader.read))
        scope = memo.recall("scope", reader.scope)
        if not (is_by_row := is_continuous(select, scope)):
            _refuse_soft_changes(select)
            _refuse_rows(select, scope)
    with _in_own_words(reader):
        if is_by_row:
            clauses = _clauses(reader, select)
            return bind_row_join(query, environment, reader, scope, clauses)
        bound = memo.recall(_where_question(select), lambda: _bound(reader, select))
        reader = reader.after(bound.parts)
        assembly = JoinAssembly(query, environment, reader, scope, bound.clauses, memo)
        return assembly.plan(bound.meeting, bind_whole)


@dataclass(frozen=True)
class _Bound:
    """FROM and WHERE, with the sides of EXISTS and IN, whatever the lengths of windows."""

    parts: FromRead
    clauses: Clauses
    meeting: Meeting


def _bound(reader: FromReader, select: Select) -> _Bound:
    clauses = _clauses(reader, select)
    refuse_mixing(clauses.mixed)
    names = [side.name for side in reader.sides]
    return _Bound(reader.so_far(), clauses, meeting_of(clauses, names, reader.scalars()))


def _clauses(reader: FromReader, select: Select) -> Clauses:
    """What FROM and WHERE say; EXISTS and IN are sides behind those of FROM."""
    groups = tuple((first, tuple(steps)) for first, steps in reader.groups)
    conditions = ConditionReader(reader.scalars(), reader.items, "WHERE", 0, _GROUPS_HINT)
    where = conditions.read(select.where)
    looks = tuple(map(SubqueryReader(reader).step, select.subqueries))
    return Clauses(groups, where, looks)


def _from_question(select: Select, catalog: Catalog) -> tuple[object, ...]:
    """FROM without its lengths, and all that a catalog declares for it."""
    first = (select.stream, select.stream_alias, select.window is None)
    return ("windows", first, tuple(map(_of_any_length, select.joins)), catalog.read_by(select))


def _where_question(select: Select) -> tuple[object, ...]:
    subqueries = (replace(s, window=s.window and _SOME) for s in select.subqueries)
    return ("where", select.where, *subqueries)


def _of_any_length(clause: JoinClause) -> JoinClause:
    return replace(clause, window=clause.window and _SOME)


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


def _refuse_emit(select: Select) -> None:
    if select.emit.place is not None:
        hint = "leave it out: every window is answered once it closes"
        refuse_unbuilt("EMIT over a join of windows", hint, select.emit.place)


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
    if select.group_by or select.having is not None or select.distinct:
        return
    trees = (scope.resolve(item.expr, names_beside_columns(select)) for item in select.items)
    if not any(call for tree in trees for call in aggregate_calls(tree, scope.aggregates)):
        refuse_unbuilt("a list of the rows of a join", _ROWS_HINT, select.items[0].expr.place)
