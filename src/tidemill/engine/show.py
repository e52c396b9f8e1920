"""SHOW, DESCRIBE and EXPLAIN: replies to statements that change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tidemill.catalog import Catalog, code_of
from tidemill.engine.beside.explain import NO_SOFT
from tidemill.engine.explain import Explainer
from tidemill.engine.pending import PendingReply, Wording
from tidemill.engine.register.aggregates import (
    AGGREGATE_COLUMNS,
    aggregate_remarks,
    aggregate_rows,
)
from tidemill.engine.register.script import ReadStatement
from tidemill.engine.tick.journal import QueryState
from tidemill.errors import listing, refuse, suggest
from tidemill.explain.replies import (
    DURATION,
    INTEGER,
    NAMES,
    SETTING,
    TEXT,
    WINDOW,
    CellType,
    Description,
    ReplyTable,
    number_as,
)
from tidemill.explain.weaves import weaves_table
from tidemill.language import render
from tidemill.language.names import Name
from tidemill.language.statements import (
    CreateAggregate,
    CreateDerivedStream,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Definition,
    Describe,
    Show,
)
from tidemill.plan.bind.branch import Branch
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.time import StreamTime
from tidemill.words import span

BranchOf = Callable[[str], Branch]
QueryStates = Mapping[str, QueryState]
Write = Callable[[Wording], PendingReply]
_QUERY_COLUMNS = {
    "query": TEXT,
    "state": TEXT,
    "from": NAMES,
    "window": WINDOW,
    "into": TEXT,
    "answers": INTEGER,
    "raised": INTEGER,
}


def _period_text(slide_us: int) -> str:
    return span(slide_us) if slide_us else "every update"


def _second_text(t_us: int) -> str:
    return datetime.fromtimestamp(t_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")


_SCHEDULE_COLUMNS = {
    "query": TEXT,
    "asked": CellType("duration_us", _period_text),
    "achieved": DURATION,
    "late": INTEGER,
    "last run": CellType("instant_us", _second_text),
    "with": INTEGER,
    "runs": INTEGER,
    "useful": number_as(".1f"),
    "extra": number_as(".2g"),
    "stale": number_as(".2g"),
}


def reply_to(
    statement: ReadStatement, explainer: Explainer, states: QueryStates, write: Write
) -> PendingReply:
    """State that changes with every tick is read now; what can take long is left to `write`."""
    if isinstance(statement, Describe):
        return describe(statement.name, explainer.catalog, states, explainer.branch)
    if not isinstance(statement, Show):
        return write(explainer.explain(statement))
    match statement.kind.upper():
        case "WEAVES":
            return write(partial(weaves_table, explainer.arrangements()))
        case "SCHEDULE":
            return _schedule(explainer, states)
        case kind:
            return show(kind, explainer.catalog, states, explainer.branch)


def show(kind: str, catalog: Catalog, states: QueryStates, branch: BranchOf) -> ReplyTable:
    """The definitions of a kind, or the settings."""
    match kind:
        case "STREAMS":
            rows = [_stream_row(stream, branch) for stream in catalog.of_kind("stream")]
            return ReplyTable.of(dict.fromkeys(("stream", "time", "source"), TEXT), rows)
        case "TABLES":
            tables = [t for t in catalog.of_kind("table") if isinstance(t, CreateTable)]
            rows = [(t.name, tuple(c.name for c in t.columns), t.source) for t in tables]
            return ReplyTable.of({"table": TEXT, "columns": NAMES, "source": TEXT}, rows)
        case "SINKS":
            sinks = [s for s in catalog.of_kind("sink") if isinstance(s, CreateSink)]
            return ReplyTable.of({"sink": TEXT, "to": TEXT}, [(s.name, s.address) for s in sinks])
        case "AGGREGATES":
            return ReplyTable.of(AGGREGATE_COLUMNS, aggregate_rows(catalog))
        case "QUERIES":
            return _queries(catalog, states)
        case _:
            names = [setting.name for setting in fields(catalog.settings)]
            values = [(name, getattr(catalog.settings, name)) for name in names]
            return ReplyTable.of({"setting": TEXT, "value": SETTING}, values)


def _stream_row(stream: Definition, branch: BranchOf) -> tuple[Any, ...]:
    """Its time, and the address or the stream that its rows come from."""
    if isinstance(stream, CreateStream):
        return stream.name, stream.order_by, stream.source
    assert isinstance(stream, CreateDerivedStream)
    return stream.name, branch(stream.name).time_column, f"stream {stream.select.stream}"


def describe(name: str, catalog: Catalog, states: QueryStates, branch: BranchOf) -> Description:
    """The canonical statement of a definition, and what it does not say itself.

    That is, of a derived stream, its columns, and of a query the first error of its values.
    """
    for kind in ("stream", "table", "sink", "aggregate", "query"):
        definition = catalog.definition(kind, name)
        if isinstance(definition, CreateAggregate):
            statement = render(replace(definition, text=None))
            remarks = aggregate_remarks(code_of(definition))
            return Description(kind, definition.name, statement, tuple(remarks))
        if isinstance(definition, CreateDerivedStream):
            columns = tuple(_stream_remarks(branch(definition.name)))
            return Description(kind, definition.name, render(definition), columns)
        if definition is not None:
            remarks = _user_errors(definition, states)
            return Description(kind, definition.name, render(definition), tuple(remarks))
    names = [definition.name for _, _, definition in catalog.all_definitions()]
    refuse("E_UNKNOWN_NAME", f"nothing is called '{name}'", hint=suggest(name, names))


def _stream_remarks(branch: Branch) -> Iterator[str]:
    yield listing("columns", (f"{column.name} {column.type}" for column in branch.columns))
    yield f"ordered by {branch.time_column}; its rows are those of stream {branch.source.name}"


def _user_errors(definition: Definition, states: QueryStates) -> list[str]:
    state = states.get(definition.name) if isinstance(definition, CreateQuery) else None
    return [f"the first that raised: {state.user_error}"] if state and state.user_error else []


def _queries(catalog: Catalog, states: QueryStates) -> ReplyTable:
    """A row for each; after all of them, why any has been stopped."""
    rows = [_query_row(query, catalog, states) for query in catalog.queries()]
    return ReplyTable.of(_QUERY_COLUMNS, rows, catalog.stopped.values())


def _query_row(query: CreateQuery, catalog: Catalog, states: QueryStates) -> tuple[Any, ...]:
    state = states.get(query.name, QueryState())
    relation = (query.select.stream, *(join.table for join in query.select.joins))
    window, counts = query.select.window, (state.answers, state.raised)
    return (query.name, _state(query, catalog), relation, window, query.into, *counts)


def _state(query: CreateQuery, catalog: Catalog) -> str:
    if catalog.is_stopped(query.name):
        return "stopped"
    return "paused" if catalog.is_paused(query.name) else "running"


def _schedule(explainer: Explainer, states: QueryStates) -> ReplyTable:
    """The soft queries and how they fare, counted in updates."""
    soft = explainer.soft_queries()
    times = {
        stream: explainer.planner.load(stream).time
        for stream in dict.fromkeys(source_name(query.relation) for query in soft)
    }
    rows = _schedule_rows(soft, states, times)
    return ReplyTable.of(_SCHEDULE_COLUMNS, rows, when_empty=NO_SOFT)


def _schedule_rows(
    queries: Sequence[QueryPlan], states: QueryStates, times: Mapping[Name, StreamTime]
) -> Iterator[tuple[Any, ...]]:
    for query in queries:
        window, history = query.window, states.get(query.name, QueryState()).history
        update = times[source_name(query.relation)].updates(window.update_us) or 0
        achieved, has_run = history.achieved, history.runs > 0
        yield (
            query.name,
            window.slide_us,
            None if achieved is None else int(achieved * window.update_us) // 1000 * 1000,
            history.late(update, window.updates),
            history.ran_us if has_run else None,
            history.together - 1 if has_run else None,
            history.runs,
            history.useful,
            history.extra_between,
            history.staleness,
        )
