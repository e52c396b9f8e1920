"""SHOW, DESCRIBE and EXPLAIN: replies to statements that change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from tidemill.catalog import Catalog, code_of
from tidemill.engine.explain import Explainer
from tidemill.engine.register.aggregates import (
    AGGREGATE_COLUMNS,
    aggregate_rows,
    describe_aggregate,
)
from tidemill.engine.register.script import ReadStatement
from tidemill.engine.tick.journal import QueryState
from tidemill.errors import refuse, suggest
from tidemill.explain.plan import window_text
from tidemill.language import render
from tidemill.language.statements import (
    CreateAggregate,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Definition,
    Describe,
    Show,
)
from tidemill.words import table


def reply_to(
    statement: ReadStatement, explainer: Explainer, queries: Mapping[str, QueryState]
) -> str:
    if isinstance(statement, Show) and statement.kind == "WEAVES":
        return explainer.weaves()
    if isinstance(statement, Show) and statement.kind == "SCHEDULE":
        return explainer.schedule(queries)
    if isinstance(statement, Show):
        return show(statement.kind, explainer.catalog, queries)
    if isinstance(statement, Describe):
        return describe(statement.name, explainer.catalog, queries)
    return explainer.explain(statement)


def show(kind: str, catalog: Catalog, states: Mapping[str, QueryState]) -> str:
    match kind.upper():
        case "STREAMS":
            rows = [
                (s.name, s.order_by or "", s.source)
                for s in catalog.of_kind("stream")
                if isinstance(s, CreateStream)
            ]
            return table(("stream", "time", "source"), rows)
        case "TABLES":
            tables = [t for t in catalog.of_kind("table") if isinstance(t, CreateTable)]
            return table(
                ("table", "columns", "source"),
                [(t.name, ", ".join(c.name for c in t.columns), t.source) for t in tables],
            )
        case "SINKS":
            sinks = [s for s in catalog.of_kind("sink") if isinstance(s, CreateSink)]
            return table(("sink", "to"), [(s.name, s.address) for s in sinks])
        case "AGGREGATES":
            return table(AGGREGATE_COLUMNS, list(aggregate_rows(catalog)))
        case "QUERIES":
            return _queries(catalog, states)
        case _:
            values = catalog.settings
            rows_ = [(f.name, str(getattr(values, f.name))) for f in fields(values)]
            return table(("setting", "value"), rows_)


def describe(name: str, catalog: Catalog, states: Mapping[str, QueryState]) -> str:
    """The canonical statement of whatever has the name; of a query also what it met with."""
    for kind in ("stream", "table", "sink", "aggregate", "query"):
        definition = catalog.definitions.get((kind, name.lower()))
        if isinstance(definition, CreateAggregate):
            return describe_aggregate(code_of(definition), render(replace(definition, text=None)))
        if definition is not None:
            return "\n".join([render(definition) + ";", *_trouble(definition, states)])
    names = [definition.name for definition in catalog.definitions.values()]
    refuse("E_UNKNOWN_NAME", f"nothing is called '{name}'", hint=suggest(name, names))


def _trouble(definition: Definition, states: Mapping[str, QueryState]) -> list[str]:
    state = states.get(definition.name) if isinstance(definition, CreateQuery) else None
    return [f"-- the first that raised: {state.trouble}"] if state and state.trouble else []


def _queries(catalog: Catalog, states: Mapping[str, QueryState]) -> str:
    """A line for each; after all of them, why any has been stopped."""
    header = ("query", "state", "from", "window", "into", "answers", "raised")
    rows = table(header, [_query_row(query, catalog, states) for query in catalog.queries()])
    return "\n\n".join([rows, *catalog.stopped.values()])


def _query_row(
    query: CreateQuery, catalog: Catalog, states: Mapping[str, QueryState]
) -> tuple[str, ...]:
    state = states.get(query.name, QueryState())
    return (
        query.name,
        _state(query, catalog),
        _relation(query),
        window_text(query.select.window),
        query.into or "",
        str(state.answers),
        str(state.raised),
    )


def _state(query: CreateQuery, catalog: Catalog) -> str:
    if catalog.is_stopped(query.name):
        return "stopped"
    return "paused" if catalog.is_paused(query.name) else "running"


def _relation(query: CreateQuery) -> str:
    """The stream, and the tables joined to it."""
    return ", ".join([query.select.stream, *(join.table for join in query.select.joins)])
