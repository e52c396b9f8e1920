"""ALTER, PAUSE and RESUME QUERY, ADVANCE STREAM: what can be done to what stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tidemill.errors import Place, refuse
from tidemill.language.cursor import Cursor
from tidemill.language.not_built import refuse_not_built
from tidemill.language.select import parse_select
from tidemill.language.statements import AdvanceStream, AlterQuery, PauseQuery, ResumeQuery

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ADVANCE = "ADVANCE STREAM name TO TIMESTAMP '2026-11-19 12:00:00'"
_ALTER = "ALTER QUERY name [INTO sink] AS SELECT …; CREATE OR REPLACE changes anything else"


def parse_alter(cursor: Cursor) -> AlterQuery:
    """The ALTER QUERY that comes next."""
    cursor.expect("ALTER")
    cursor.expect("QUERY", hint=_ALTER)
    place = cursor.here
    name = cursor.name("the name of a query")
    is_sent = cursor.take("INTO")
    into_place = cursor.here
    into = cursor.name("the name of a sink") if is_sent else None
    cursor.expect("AS", hint=_ALTER)
    if cursor.at("WITH"):
        refuse_not_built("WITH before SELECT", cursor.text, cursor.here)
    return AlterQuery(name, into, parse_select(cursor), place=place, into_place=into_place)


def parse_pause(cursor: Cursor) -> PauseQuery:
    cursor.expect("PAUSE")
    cursor.expect("QUERY", hint="PAUSE QUERY name")
    place = cursor.here
    return PauseQuery(cursor.name("the name of a query"), place=place)


def parse_resume(cursor: Cursor) -> ResumeQuery:
    cursor.expect("RESUME")
    cursor.expect("QUERY", hint="RESUME QUERY name")
    place = cursor.here
    return ResumeQuery(cursor.name("the name of a query"), place=place)


def parse_advance(cursor: Cursor) -> AdvanceStream:
    cursor.expect("ADVANCE")
    cursor.expect("STREAM", hint=_ADVANCE)
    place = cursor.here
    name = cursor.name("the name of a stream")
    cursor.expect("TO", hint=_ADVANCE)
    start = cursor.index
    cursor.expect("TIMESTAMP", hint=_ADVANCE)
    text = cursor.string("a quoted instant such as '2026-11-19 12:00:00'")
    until_place = cursor.since(start)
    return AdvanceStream(
        name, _instant_us(text, cursor.text, until_place), place=place, until_place=until_place
    )


def _instant_us(text: str, script: str, place: Place) -> int:
    """Microseconds since the epoch; an instant without a zone is in UTC, as all times are."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        refuse("E_TYPE", f"no instant '{text}'", hint=_ADVANCE, text=script, place=place)
    zoned = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return (zoned - _EPOCH) // timedelta(microseconds=1)
