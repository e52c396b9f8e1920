"""Streams of answers: the columns that a query over windows gives to a stream, or why it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidemill.catalog.handed import WINDOW_TIME
from tidemill.errors import listing, refuse
from tidemill.language import parse_script, render
from tidemill.language.names import Name
from tidemill.language.not_built import refuse_unbuilt
from tidemill.language.statements import ColumnDef, CreateAnswerStream
from tidemill.plan.bind.streams import item_name
from tidemill.plan.query import Output, QueryPlan
from tidemill.plan.row_query import AnyQuery
from tidemill.types import VOID, Type


def with_columns(statement: CreateAnswerStream, plan: AnyQuery) -> CreateAnswerStream:
    """The statement with the columns of the answers, in the words in which a catalog keeps them;
    those that it has already must be the same."""
    windowed = _windowed(statement, plan)
    _refuse_unsettled(statement)
    _refuse_revised(statement, windowed)
    _check_names(statement)
    answers = tuple(_column(statement, output) for output in windowed.outputs)
    columns = _in_words(replace(statement, columns=(WINDOW_TIME, *answers)))
    if statement.columns is not None and statement.columns != columns:
        refuse(
            "E_TYPE",
            f"the columns of stream {statement.name} are others than its query has",
            detail=listing("columns", (f"{column.name} {column.type}" for column in columns)),
            hint="leave them out: they follow from the query",
            place=statement.place,
        )
    return replace(statement, columns=columns)


def _in_words(statement: CreateAnswerStream) -> tuple[ColumnDef, ...]:
    """The columns as they are read from canonical text: a nested type has several texts."""
    (read,) = parse_script(render(statement))
    assert isinstance(read, CreateAnswerStream)
    assert read.columns is not None
    return read.columns


def _windowed(statement: CreateAnswerStream, plan: AnyQuery) -> QueryPlan:
    if isinstance(plan, QueryPlan):
        return plan
    if plan.join is not None:
        refuse_unbuilt(
            f"stream {statement.name} of the results of a join without SLIDE",
            "give one window a SLIDE, and aggregate; or read the results from a sink",
            statement.select.stream_place,
        )
    refuse(
        "E_WINDOW",
        f"stream {statement.name} has columns of answers, and its query reads no window",
        hint="leave the columns out, or read a window: FROM stream [RANGE r SLIDE s]",
        place=statement.select.stream_place,
    )


def _refuse_unsettled(statement: CreateAnswerStream) -> None:
    """Answers become rows once, so they must come once, and be the same in every run."""
    select = statement.select
    if select.is_soft:
        refuse(
            "E_WINDOW",
            f"stream {statement.name} cannot have the answers of a soft period: which windows are "
            "answered depends on what there is time for",
            hint="give the window a fixed slide: [RANGE r SLIDE s]",
            place=select.window.place if select.window else None,
        )
    if select.emit.every_us:
        refuse(
            "E_EMIT",
            f"stream {statement.name} cannot have early answers: each window becomes rows once",
            hint="leave EMIT EVERY out, or use shorter windows",
            place=select.emit.place,
        )


def _refuse_revised(statement: CreateAnswerStream, windowed: QueryPlan) -> None:
    if windowed.revises:
        refuse(
            "E_WINDOW",
            f"stream {statement.name} cannot have answers that are corrected: "
            "each window becomes rows once",
            detail=f"rows that come late correct answers over stream {statement.select.stream}",
            hint="leave correct out of the stream below, and allow for more lateness",
            place=statement.select.stream_place,
        )


def _check_names(statement: CreateAnswerStream) -> None:
    for item in statement.select.items:
        if not item_name(item):
            refuse(
                "E_NAME",
                f"a column of stream {statement.name} has no name",
                hint=f"give it one: {item.expr.sql} AS …",
                place=item.expr.place,
            )
        if Name(item_name(item)) == WINDOW_TIME.name:
            refuse(
                "E_DUPLICATE",
                f"stream {statement.name} has a column {WINDOW_TIME.name} already",
                hint="it is the last instant of the window; give the other one a name with AS",
                place=item.expr.place,
            )


def _column(statement: CreateAnswerStream, output: Output) -> ColumnDef:
    kind = output.node.type
    if all(_is_storable(part) for part in _parts(kind)):
        return ColumnDef(output.name, kind)
    refuse(
        "E_TYPE",
        f"column {output.name} of stream {statement.name} would be {kind}, which no column can be",
        hint=f"write CAST({'NULL' if kind == VOID else output.name} AS …)",
        place=next(
            (
                i.expr.place
                for i in statement.select.items
                if Name(item_name(i)) == Name(output.name)
            ),
            statement.place,
        ),
    )


def _parts(kind: Type) -> Iterator[Type]:
    """The type and all types inside it."""
    yield kind
    for _, inner in kind.inner:
        yield from _parts(inner)


def _is_storable(kind: Type) -> bool:
    """True if a column of a stream can be of it: known here, and not of nothing but NULLs."""
    return kind != VOID and (kind.is_atomic or bool(kind.inner))
