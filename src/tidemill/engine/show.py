"""SHOW, DESCRIBE and EXPLAIN: replies to statements that change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tidemill.catalog import Catalog, Stream, code_of
from tidemill.catalog.handed import WINDOW_TIME
from tidemill.engine.beside.explain import NO_SOFT
from tidemill.engine.explain import Explainer
from tidemill.engine.pending import PendingReply, Wording
from tidemill.engine.register.aggregates import (
    AGGREGATE_COLUMNS,
    aggregate_remarks,
    aggregate_rows,
)
from tidemill.engine.register.script import ReadStatement
from tidemill.engine.tick.bases import register_of
from tidemill.engine.tick.journal import QueryState
from tidemill.engine.waits.looks import LookAt
from tidemill.engine.waits.queries import Standing, Wait
from tidemill.engine.waits.sources import source_reports
from tidemill.engine.waits.tables import WAIT, sources_table
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
from tidemill.language.names import Name, quote_stream, set_aside_by
from tidemill.language.statements import (
    CreateAggregate,
    CreateAnswerStream,
    CreateDerivedStream,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Definition,
    Describe,
    Select,
    Show,
)
from tidemill.plan.bind.branch import BoundStream
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_names
from tidemill.time import Register
from tidemill.words import many, span

StreamOf = Callable[[str], BoundStream]
QueryStates = Mapping[str, QueryState]
Write = Callable[[Wording], PendingReply]
# Of a stream whose rows carry no time.
_LATENT = "latent: rows carry no time, and windows are over that of their arrival"
_QUERY_COLUMNS = {
    "query": TEXT,
    "state": TEXT,
    "from": NAMES,
    "window": WINDOW,
    "into": TEXT,
    "answers": INTEGER,
    "raised": INTEGER,
    "waits for": WAIT,
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
    statement: ReadStatement,
    explainer: Explainer,
    states: QueryStates,
    write: Write,
    look_at: LookAt,
) -> PendingReply:
    """State that changes with every tick is read now; what can take long is left to `write`."""
    if isinstance(statement, Describe):
        return describe(statement.name, explainer.catalog, states, explainer.bound)
    if not isinstance(statement, Show):
        return write(explainer.explain(statement))
    match statement.kind.upper():
        case "WEAVES":
            return write(partial(weaves_table, explainer.arrangements()))
        case "SCHEDULE":
            return _schedule(explainer, states)
        case "SOURCES":
            streams = explainer.sources()
            standing = _standing(explainer, streams, states)
            return sources_table(source_reports(streams, standing, look_at))
        case "QUERIES":
            standing = _standing(explainer, explainer.sources(), states)
            return queries_table(explainer.catalog, states, standing.waits())
        case kind:
            return show(kind, explainer.catalog, explainer.bound)


def _standing(explainer: Explainer, streams: Sequence[Stream], states: QueryStates) -> Standing:
    """All that tells what queries wait for, as it is now."""
    committed = {stream.key: explainer.planner.load(stream.key) for stream in streams}
    return Standing(explainer.standing, committed, states, explainer.catalog.paused)


def show(kind: str, catalog: Catalog, bound: StreamOf) -> ReplyTable:
    """The definitions of a kind, or the settings."""
    match kind:
        case "STREAMS":
            rows = [_stream_row(stream, bound) for stream in catalog.of_kind("stream")]
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
        case _:
            names = [setting.name for setting in fields(catalog.settings)]
            values = [(name, getattr(catalog.settings, name)) for name in names]
            return ReplyTable.of({"setting": TEXT, "value": SETTING}, values)


def _stream_row(stream: Definition, bound: StreamOf) -> tuple[Any, ...]:
    """Its time, if it has one, and the address or the streams that its rows come from."""
    if isinstance(stream, CreateStream):
        return stream.name, stream.order_by, stream.source
    assert isinstance(stream, CreateDerivedStream | CreateAnswerStream)
    if isinstance(stream, CreateAnswerStream):
        return stream.name, WINDOW_TIME.name, f"answers over {_read_by(stream.select)}"
    time = bound(stream.name).face.time_column or None
    below = dict.fromkeys(Name(member.stream) for member in stream.members)
    word = "streams" if len(below) > 1 else "stream"
    return stream.name, time, f"{word} {', '.join(name.written for name in below)}"


def describe(name: str, catalog: Catalog, states: QueryStates, bound: StreamOf) -> Description:
    """The canonical statement of a definition, and what it does not say itself.

    That is, of a derived stream, its columns, and of a query the first error of its values. Of what
    a stream sets aside it is the statement of that stream.
    """
    if base := set_aside_by(name):
        side = catalog.stream(name)
        statement = render(catalog.stream_definition(base))
        return Description(
            "stream", side.name, statement, tuple(_handed_remarks(side, side.origin))
        )
    for kind in ("stream", "table", "sink", "aggregate", "query"):
        definition = catalog.definition(kind, name)
        if isinstance(definition, CreateAggregate):
            statement = render(replace(definition, text=None))
            remarks = aggregate_remarks(code_of(definition))
            return Description(kind, definition.name, statement, tuple(remarks))
        if isinstance(definition, CreateAnswerStream):
            statement = render(replace(definition, columns=None))
            columns = tuple(_handed_remarks(catalog.stream(definition.name), "the answers"))
            return Description(kind, definition.name, statement, columns)
        if isinstance(definition, CreateDerivedStream):
            columns = tuple(_stream_remarks(bound(definition.name)))
            return Description(kind, definition.name, render(definition), columns)
        if definition is not None:
            remarks = _remarks(definition, states)
            return Description(kind, definition.name, render(definition), tuple(remarks))
    names = [definition.name for _, _, definition in catalog.all_definitions()]
    refuse("E_UNKNOWN_NAME", f"nothing is called '{name}'", hint=suggest(name, names))


def _handed_remarks(stream: Stream, rows: str) -> Iterator[str]:
    columns = (f"{column.name} {column.type}" for column in stream.columns)
    yield listing(f"columns of {stream.name}", columns)
    yield f"ordered by {stream.time_column}; its rows are {rows}"


def _stream_remarks(bound: BoundStream) -> Iterator[str]:
    face = bound.face
    yield listing("columns", (f"{column.name} {column.type}" for column in face.columns))
    order = _LATENT if face.is_latent else f"ordered by {face.time_column}"
    names = list(dict.fromkeys(branch.source.name for branch in bound.branches))
    rows = listing("streams", names) if len(names) > 1 else f"stream {names[0]}"
    yield f"{order}; its rows are those of {rows}"


def _remarks(definition: Definition, states: QueryStates) -> list[str]:
    if isinstance(definition, CreateStream) and definition.order_by is None:
        return [_LATENT]
    state = states.get(definition.name) if isinstance(definition, CreateQuery) else None
    if state is None:
        return []
    first = [f"the first that raised: {state.user_error}"] if state.user_error else []
    skipped = state.gaps.skipped
    gaps = f"{many(skipped, 'window')} without rows left out, in gaps over most_empty_windows"
    return [*first, *([gaps] if skipped else [])]


def queries_table(catalog: Catalog, states: QueryStates, waits: Mapping[Name, Wait]) -> ReplyTable:
    """A row for each; after all of them, why any has been stopped."""
    rows = [
        (*_query_row(query, catalog, states), waits.get(Name(query.name)))
        for query in catalog.queries()
    ]
    return ReplyTable.of(_QUERY_COLUMNS, rows, catalog.stopped.values())


def _read_by(select: Select) -> str:
    """The streams of a SELECT, each once."""
    names = dict.fromkeys(map(Name, select.streams))
    return ", ".join(quote_stream(name.written) for name in names)


def _query_row(query: CreateQuery, catalog: Catalog, states: QueryStates) -> tuple[Any, ...]:
    state = states.get(query.name, QueryState())
    relation = (*query.select.streams, *query.select.tables)
    window, counts = query.select.leading_window, (state.answers, state.raised)
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
        for stream in dict.fromkeys(n for query in soft for n in source_names(query.relation))
    }
    rows = _schedule_rows(soft, states, times)
    return ReplyTable.of(_SCHEDULE_COLUMNS, rows, when_empty=NO_SOFT)


def _schedule_rows(
    queries: Sequence[QueryPlan], states: QueryStates, times: Mapping[Name, Register]
) -> Iterator[tuple[Any, ...]]:
    for query in queries:
        window, history = query.window, states.get(query.name, QueryState()).history
        time = register_of(source_names(query.relation), times)
        update = time.updates(window.update_us) or 0
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
