"""Parts of the language that the engine cannot do: one sentence each, with a way out."""

from __future__ import annotations

from typing import NoReturn

from tidemill.errors import Place, refuse

_ONE_STREAM = "a query reads one stream: FROM stream [RANGE r SLIDE s]"
_RANGE = "write [RANGE r SLIDE s]"
_TABLES = "a table is joined by JOIN or LEFT JOIN; a stream needs a window: stream [RANGE r]"
_EXISTS = "WHERE [NOT] EXISTS (SELECT 1 FROM stream [RANGE r] WHERE …)"
_SUBQUERY = f"EXISTS and IN are conditions of WHERE, joined by AND: {_EXISTS}"
_WINDOW_KINDS = ("RIGHT", "FULL", "CROSS", "LEFT SEMI", "LEFT ANTI")

HINTS = {
    "a subquery": _SUBQUERY,
    "a subquery in a subquery": _SUBQUERY,
    "more than WHERE in a subquery": "a subquery reads one window: " + _EXISTS,
    "OVER": "group by the partition and take the aggregate over the window of the stream",
    "NATURAL JOIN": "name the columns: JOIN … USING (column)",
    **{f"{kind} JOIN of a table": _TABLES for kind in _WINDOW_KINDS},
    "a JOIN of windows in a stream of rows": (
        "join the windows in the queries over the stream: FROM a [RANGE r SLIDE s] JOIN b [RANGE q]"
    ),
    "a JOIN without an equality": "add a condition such as stream.column = table.column to ON",
    "a query over several streams": (
        "give each a window: FROM a [RANGE r SLIDE s], b [RANGE q]; or put their rows together "
        "in one: CREATE STREAM name AS SELECT … UNION ALL SELECT …"
    ),
    "LATERAL": _ONE_STREAM,
    "a set operation": (
        "a union is a stream, which queries read: CREATE STREAM name AS SELECT … UNION ALL SELECT …"
    ),
    "SELECT DISTINCT without a window": (
        "select over a window: " + _RANGE + " after the stream's name"
    ),
    **{
        f"{word} over several lengths": "write a query for each length"
        for word in ("ISTREAM", "DSTREAM")
    },
    "ISTREAM RESTORE": "ISTREAM tells what an answer has that the one a slide before had not",
    "WSTREAM": "SELECT without a word gives all rows of each answer",
    "WITH before SELECT": _ONE_STREAM,
    "SELECT * with words": "write SELECT * alone, or name the columns",
    "SELECT alias.*": "write SELECT * alone, or name the columns",
    "SELECT * over a window": (
        "name group keys and aggregates, for example SELECT src, COUNT(*) … GROUP BY src"
    ),
    "a grouping set": "write one query per set of group keys",
    "OFFSET": "LIMIT n gives the first n rows of each window",
    "QUALIFY": "HAVING filters the groups of a window",
    "LIMIT DELAY": "leave it out: every window is answered once it closes",
    "a window by rows": _RANGE,
    "PARTITION BY in a window": "GROUP BY the column; " + _RANGE,
    "INTERNAL": _RANGE,
    "UNION without ALL": "write UNION ALL, which keeps rows that are equal",
    "INTERSECT or EXCEPT in a stream": "rows of streams are put together with UNION ALL alone",
    "an order of rows in a stream": "rows of a stream stand in its time; leave the clause out",
    "LIMIT or OFFSET in a stream": "LIMIT stands in queries over windows of the stream",
    "WITH on a derived stream": (
        "lateness, correct, ahead, skew, clock, update and weight are those of the stream below"
    ),
    "WITH on a stream of answers": "its time is that of its query, and none of its rows is late",
    "ON OVERLOAD": "ON OVERLOAD BLOCK is the default and the only choice today",
}


def refuse_not_built(thing: str, text: str, place: Place | None) -> NoReturn:
    """Refuses one of the things above."""
    refuse_unbuilt(thing, HINTS[thing], place, text)


def refuse_unbuilt(thing: str, hint: str, place: Place | None, text: str = "") -> NoReturn:
    """Refuses what only a binder can tell, with the way out that is left there."""
    refuse("E_NOT_BUILT", f"{thing} is not built yet", hint=hint, text=text, place=place)
