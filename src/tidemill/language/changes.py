"""ALTER, PAUSE and RESUME QUERY: what can be done to a query that stands."""

from __future__ import annotations

from tidemill.language.cursor import Cursor
from tidemill.language.not_built import refuse_not_built
from tidemill.language.select import parse_select
from tidemill.language.statements import AlterQuery, PauseQuery, ResumeQuery

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
