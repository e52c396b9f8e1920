"""Streams whose rows come from the ticks of others: what a stream has set aside, and the answers
to a query.

>>> from tidemill.catalog.definitions import stream_of
>>> from tidemill.language import parse_script
>>> from tidemill.language.statements import CreateStream
>>> text = "CREATE STREAM s (ts TIMESTAMP, n INT) ORDER BY ts SOURCE 'parquet:in'"
>>> (statement,) = parse_script(text)
>>> late = side_stream(stream_of(statement), "late")
>>> late.name, [column.name for column in late.columns], late.level
('s.late', ['ts', 'n', 'late_by_us', 'seen_at'], 1)
"""

from __future__ import annotations

from tidemill.catalog.addresses import HANDED, Address
from tidemill.catalog.definitions import Stream
from tidemill.errors import Place, listing, refuse
from tidemill.language import render
from tidemill.language.names import ANSWERS_FOR, Name
from tidemill.language.statements import ColumnDef, CreateAnswerStream, CreateQuery
from tidemill.types import BIGINT, STRING, TIMESTAMP

# Of an answer the last instant of its window, so that an hour of minutes is an hour.
WINDOW_TIME = ColumnDef("window_time", TIMESTAMP)
# Of a row that was set aside: how long before the bound of its arrival it is, and when the stream
# of such rows has taken it.
LATE_BY, SEEN_AT = ColumnDef("late_by_us", BIGINT), ColumnDef("seen_at", TIMESTAMP)
_ORIGINS = {"late": "late rows", "malformed": "malformed records"}
_RECORD = (ColumnDef("record", STRING), ColumnDef("reason", STRING))


def side_stream(stream: Stream, side: str, place: Place | None = None) -> Stream:
    """The rows of a stream that were late, or its malformed records."""
    name, is_late = f"{stream.name}.{side}", side == "late"
    rows = stream.columns if is_late else _RECORD
    more = (LATE_BY, SEEN_AT) if is_late else (SEEN_AT,)
    clashes = {Name(column.name) for column in rows} & {Name(column.name) for column in more}
    if clashes:
        refuse(
            "E_DUPLICATE",
            f"stream {name} cannot be read: {stream.name} has a column {min(clashes)} itself",
            detail=listing(f"columns that {name} adds", (column.name for column in more)),
            hint=f"declare {stream.name} with another name for the column",
            place=place,
        )
    return Stream(
        name=name,
        columns=(*rows, *more),
        time_column=SEEN_AT.name,
        stamped_on_arrival=True,
        source=Address(HANDED, name),
        lateness_us=0,
        level=stream.level + 1,
        origin=f"{_ORIGINS[side]} of stream {stream.name}",
    )


def answer_stream(statement: CreateAnswerStream, level: int) -> Stream:
    """The answers to the query of the statement; `level` is that of what it reads."""
    assert statement.columns is not None
    return Stream(
        name=statement.name,
        columns=statement.columns,
        time_column=WINDOW_TIME.name,
        stamped_on_arrival=False,
        source=Address(HANDED, statement.name),
        lateness_us=0,
        level=level + 1,
        origin=f"answers to {' '.join(render(statement.select).split())}",
    )


def answering_query(statement: CreateAnswerStream) -> CreateQuery:
    """The query that works a stream of answers out."""
    return CreateQuery(f"{ANSWERS_FOR}{statement.name}", None, statement.select)
