"""What the language knows and the engine cannot do yet: one sentence each, with a way out."""

from __future__ import annotations

from typing import NoReturn

from tidemill.errors import Place, refuse

_ONE_STREAM = "a query reads one stream: FROM stream [RANGE r SLIDE s]"
_RANGE = "write [RANGE r SLIDE s]"
_STATEMENTS = "DROP QUERY and CREATE QUERY work, and CREATE OR REPLACE QUERY changes one"

HINTS = {
    "a subquery": _ONE_STREAM,
    "OVER": "group by the partition and take the aggregate over the window of the stream",
    "JOIN": _ONE_STREAM,
    "a query over several streams": _ONE_STREAM,
    "LATERAL": _ONE_STREAM,
    "a set operation": "register each SELECT as its own query",
    "SELECT DISTINCT": "GROUP BY the columns instead",
    "WITH before SELECT": _ONE_STREAM,
    "SELECT *": "name group keys and aggregates, for example SELECT src, COUNT(*) … GROUP BY src",
    "a grouping set": "write one query per set of group keys",
    "OFFSET": "LIMIT n gives the first n rows of each window",
    "QUALIFY": "HAVING filters the groups of a window",
    "LIMIT DELAY": "leave it out: every window is answered once it closes",
    "a window by rows": _RANGE,
    "PARTITION BY in a window": "GROUP BY the column; " + _RANGE,
    "several ranges in one window": "register one query per range",
    "SLIDE UP TO": "SLIDE s answers every window",
    "INTERNAL": _RANGE,
    "CREATE TABLE": "streams work: CREATE STREAM name (…) ORDER BY ts SOURCE '…'",
    "CREATE AGGREGATE": "use the aggregates of Spark SQL",
    "CREATE STREAM … AS SELECT": "put the condition into the WHERE of each query",
    "ON OVERLOAD": "ON OVERLOAD BLOCK is the default and the only choice today",
    "ALTER": _STATEMENTS,
    "PAUSE": _STATEMENTS,
    "RESUME": _STATEMENTS,
    "DROP TABLE": "DROP STREAM, DROP SINK and DROP QUERY work",
    "DROP AGGREGATE": "DROP STREAM, DROP SINK and DROP QUERY work",
    "EXPLAIN SCHEDULE": "EXPLAIN AST, PLAN, SHARED and SPARK work",
    "SHOW WEAVES": "EXPLAIN SHARED ALL shows what is shared",
    "SHOW TABLES": "SHOW STREAMS, SINKS, QUERIES and SETTINGS work",
    "SHOW AGGREGATES": "SHOW STREAMS, SINKS, QUERIES and SETTINGS work",
}


def refuse_not_built(thing: str, text: str, place: Place | None) -> NoReturn:
    """Refuses one of the things above."""
    refuse("E_NOT_BUILT", f"{thing} is not built yet", hint=HINTS[thing], text=text, place=place)
