"""Statements back to text: canonical, and read back as the same value.

>>> from tidemill.language.parser import parse_script
>>> print(render(parse_script("select count(*) n from s [window 2 min slide '60 s']")[0]))
SELECT COUNT(*) AS n
FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE]
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import singledispatch

from tidemill.durations import render_duration
from tidemill.language.names import needs_quotes, quote_name, quote_stream, quote_text
from tidemill.language.statements import (
    AdvanceStream,
    AlterQuery,
    ColumnDef,
    CreateAggregate,
    CreateAnswerStream,
    CreateDerivedStream,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Describe,
    Drop,
    Emit,
    Explain,
    JoinClause,
    Options,
    OrderItem,
    PauseQuery,
    ResumeQuery,
    RowSelect,
    RunSelect,
    Select,
    SelectItem,
    Set,
    Show,
    Star,
    Statement,
    Subquery,
    Window,
)

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def render(statement: Statement | Select | RowSelect) -> str:
    """The canonical text, without a final semicolon."""
    return _render(statement)


@singledispatch
def _render(statement: object) -> str:
    raise TypeError(f"not a statement: {statement!r}")


@_render.register
def _(stream: CreateStream) -> str:
    columns = ", ".join(_column(column) for column in stream.columns)
    lines = [f"{_create('STREAM', stream.or_replace)} {quote_name(stream.name)} ({columns})"]
    if stream.order_by is not None:
        lines.append(f"ORDER BY {quote_name(stream.order_by)}")
    lines.append(f"SOURCE {quote_text(stream.source)}")
    return "\n".join(lines + _options(stream.options))


@_render.register
def _(stream: CreateDerivedStream) -> str:
    head = f"{_create('STREAM', stream.or_replace)} {quote_name(stream.name)} AS"
    return "\n".join([head, "\nUNION ALL\n".join(map(_render, stream.members))])


@_render.register
def _(stream: CreateAnswerStream) -> str:
    head = f"{_create('STREAM', stream.or_replace)} {quote_name(stream.name)}"
    columns = "" if stream.columns is None else f" ({', '.join(map(_column, stream.columns))})"
    return f"{head}{columns} AS\n{_render(stream.select)}"


@_render.register
def _(table: CreateTable) -> str:
    columns = ", ".join(_column(column) for column in table.columns)
    head = f"{_create('TABLE', table.or_replace)} {quote_name(table.name)} ({columns})"
    return "\n".join([head, f"SOURCE {quote_text(table.source)}", *_options(table.options)])


@_render.register
def _(sink: CreateSink) -> str:
    head = f"{_create('SINK', sink.or_replace)} {quote_name(sink.name)}"
    return "\n".join([f"{head} TO {quote_text(sink.address)}", *_options(sink.options)])


@_render.register
def _(aggregate: CreateAggregate) -> str:
    head = f"{_create('AGGREGATE', aggregate.or_replace)} {quote_name(aggregate.name)}"
    text = [] if aggregate.text is None else [f"AS {quote_text(aggregate.text)}"]
    return "\n".join([head, f"SOURCE {quote_text(aggregate.source)}", *text])


@_render.register
def _(query: CreateQuery) -> str:
    head = f"{_create('QUERY', query.or_replace)} {quote_name(query.name)}"
    words = [head, *_into(query.into), *_options(query.options), "AS"]
    return " ".join(words) + "\n" + _render(query.select)


@_render.register
def _(alter: AlterQuery) -> str:
    words = [f"ALTER QUERY {quote_name(alter.name)}", *_into(alter.into), "AS"]
    return " ".join(words) + "\n" + _render(alter.select)


@_render.register
def _(advance: AdvanceStream) -> str:
    instant = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=advance.until_us)
    text = instant.replace(tzinfo=None).isoformat(" ")
    return f"ADVANCE STREAM {quote_name(advance.name)} TO TIMESTAMP {quote_text(text)}"


@_render.register
def _(pause: PauseQuery) -> str:
    return f"PAUSE QUERY {quote_name(pause.name)}"


@_render.register
def _(resume: ResumeQuery) -> str:
    return f"RESUME QUERY {quote_name(resume.name)}"


@_render.register
def _(drop: Drop) -> str:
    return f"DROP {drop.kind} {'IF EXISTS ' if drop.if_exists else ''}{quote_name(drop.name)}"


@_render.register
def _(show: Show) -> str:
    return f"SHOW {show.kind}"


@_render.register
def _(describe: Describe) -> str:
    return f"DESCRIBE {quote_stream(describe.name)}"


@_render.register
def _(setting: Set) -> str:
    bare = _NUMBER.fullmatch(setting.value)
    return (
        f"SET {quote_name(setting.name)} = {setting.value if bare else quote_text(setting.value)}"
    )


@_render.register
def _(explain: Explain) -> str:
    if isinstance(explain.target, Select):
        return f"EXPLAIN {explain.mode}\n{_render(explain.target)}"
    target = "ALL" if explain.target is None else f"QUERY {quote_name(explain.target)}"
    return f"EXPLAIN {explain.mode} {target}"


@_render.register
def _(run: RunSelect) -> str:
    return "\n".join([_render(run.select), *_options(run.options)])


@_render.register
def _(select: Select) -> str:
    stream = _relation(select.stream, select.window, select.stream_alias)
    clauses = (
        ("SELECT", _head(select)),
        ("FROM", stream + "".join(map(_join, select.joins))),
        ("WHERE", " AND ".join(_conditions(select))),
        ("GROUP BY", ", ".join(key.sql for key in select.group_by)),
        ("HAVING", select.having.sql if select.having else ""),
        ("ORDER BY", ", ".join(_order(item) for item in select.order_by)),
        ("LIMIT", "" if select.limit is None else str(select.limit)),
        ("EMIT", render_emit(select.emit)),
    )
    return "\n".join(f"{word} {body}" for word, body in clauses if body)


@_render.register
def _(select: RowSelect) -> str:
    stream = f"{quote_stream(select.stream)}{_alias(select.stream_alias)}"
    clauses = (
        ("SELECT", ", ".join(map(_row_item, select.items))),
        ("FROM", stream + "".join(map(_join, select.joins))),
        ("WHERE", select.where.sql if select.where else ""),
    )
    return "\n".join(f"{word} {body}" for word, body in clauses if body)


def _head(select: Select) -> str:
    items = ", ".join(map(_item, select.items))
    items = f"DISTINCT {items}" if select.distinct else items
    return f"{select.delta}({items})" if select.delta else items


def _row_item(item: SelectItem | Star) -> str:
    if isinstance(item, SelectItem):
        return _item(item)
    return "*" if item.qualifier is None else f"{quote_name(item.qualifier)}.*"


def _alias(alias: str | None) -> str:
    return "" if alias is None else f" AS {quote_name(alias)}"


def _join(join: JoinClause) -> str:
    relation = _relation(join.name, join.window, join.alias)
    if join.kind == ",":
        return f", {relation}"
    word = "" if join.kind == "INNER" else f"{join.kind} "
    using = f" USING ({', '.join(map(quote_name, join.using))})" if join.using else ""
    condition = f" ON {join.on.sql}" if join.on is not None else using
    return f"\n{word}JOIN {relation}{condition}"


def _relation(name: str, window: Window | None, alias: str | None) -> str:
    text = "" if window is None else f" [{_window(window)}]"
    return f"{quote_stream(name)}{text}{_alias(alias)}"


def _conditions(select: Select) -> list[str]:
    return [*([select.where.sql] if select.where else []), *map(_subquery, select.subqueries)]


def _subquery(subquery: Subquery) -> str:
    word = "NOT " if subquery.negated else ""
    item = "1" if subquery.item is None else subquery.item.sql
    relation = _relation(subquery.stream, subquery.window, subquery.alias)
    where = f" WHERE {subquery.where.sql}" if subquery.where else ""
    text = f"(SELECT {item} FROM {relation}{where})"
    if subquery.subject is None:
        return f"{word}EXISTS {text}"
    return f"{subquery.subject.sql} {word}IN {text}"


def _into(sink: str | None) -> list[str]:
    return [] if sink is None else [f"INTO {quote_name(sink)}"]


def _create(kind: str, or_replace: bool) -> str:
    return f"CREATE {'OR REPLACE ' if or_replace else ''}{kind}"


def _column(column: ColumnDef) -> str:
    return f"{quote_name(column.name)} {column.type.sql}"


def _item(item: SelectItem) -> str:
    return item.expr.sql + _alias(item.alias)


def _window(window: Window) -> str:
    ranges = ", ".join(map(render_duration, window.ranges_us))
    if window.is_soft and not window.slide_us:
        return f"RANGE {ranges}"
    up_to = "UP TO " if window.is_soft else ""
    text = f"RANGE {ranges} SLIDE {up_to}{render_duration(window.slide_us)}"
    return f"{text} START {render_duration(window.start_us)}" if window.start_us else text


def render_emit(emit: Emit) -> str:
    """The parts that are not the default."""
    every = [f"EVERY {render_duration(emit.every_us)}"] if emit.every_us else []
    return ", ".join([*every, *(["EMPTY WINDOWS"] if emit.empty_windows else [])])


def _order(item: OrderItem) -> str:
    direction = " DESC" if item.descending else ""
    default = item.nulls_first != item.descending
    nulls = "" if default else f" NULLS {'FIRST' if item.nulls_first else 'LAST'}"
    return f"{item.expr.sql}{direction}{nulls}"


def _options(options: Options) -> list[str]:
    pairs = ", ".join(f"{_key(key)} = {quote_text(value)}" for key, value in options)
    return [f"WITH ({pairs})"] if options else []


def _key(key: str) -> str:
    bare = key == key.lower() and not any(needs_quotes(part) for part in key.split("."))
    return key if bare else quote_text(key)
