"""Names: equal whatever their case, and in backticks where they need them.

>>> quote_name("src"), quote_name("order"), quote_name("two words")
('src', '`order`', '`two words`')
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol, TypeVar

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Words with a meaning inside an expression or right after one. A column of such a name is
# written in backticks; every other word, `date` and `timestamp` among them, is free.
_RESERVED_WORDS = """
    ALL ALTER AND ANTI ANY AS ASC BETWEEN BY CASE COLLATE CREATE CROSS CURRENT_CATALOG CURRENT_DATE
    CURRENT_DATETIME CURRENT_ROLE CURRENT_SCHEMA CURRENT_TIMESTAMP CURRENT_USER DESC
    DISTINCT DIV DROP ELSE END ESCAPE EXCEPT EXISTS FALSE FETCH FILTER FOR FROM FULL GLOB GRANT
    GROUP HAVING ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS ISNULL JOIN KEEP LATERAL LEFT LIKE
    LIMIT LOCALTIME LOCALTIMESTAMP MINUS NATURAL NOT NOTNULL NULL NULLS OFFSET ON OR ORDER OUTER
    OVER OVERLAPS PARTITION PARTITIONED_BY QUALIFY REGEXP RETURNING REVOKE RIGHT RLIKE ROLLBACK
    SELECT SEMI SERDEPROPERTIES SESSION_USER SET SOME TABLESAMPLE THEN TRUE UNCACHE UNION UNKNOWN
    UNNEST USING VALUES WHEN WHERE WINDOW WITH WITHIN XOR
"""
RESERVED = frozenset(_RESERVED_WORDS.split())
# What the query behind a stream of answers is called; no statement can give a query such a name.
ANSWERS_FOR = "stream "
# What a stream sets aside is a stream that is called after it: `packets.late`.
SIDES = ("late", "malformed")
# With a bracket behind them they say what of an answer is delivered.
STREAM_WORDS = ("RSTREAM", "ISTREAM", "DSTREAM", "WSTREAM")


def is_reserved(word: str) -> bool:
    """True if the bare word cannot stand for a name."""
    return word.upper() in RESERVED


def needs_quotes(name: str) -> bool:
    """True if the name must stand in backticks to be read as a name, by us and by Spark."""
    # The column that is stamped on arrival bears the name of one of Spark's functions.
    return _PLAIN.fullmatch(name) is None or is_reserved(name) or name.lower() == "current_time"


def quote_name(name: str) -> str:
    """The name as it is written in canonical text."""
    return "`" + name.replace("`", "``") + "`" if needs_quotes(name) else name


def quote_stream(name: str) -> str:
    """The same for a stream, which may be one of what another one has set aside.

    >>> quote_stream("packets.late"), quote_stream("two words.late"), quote_stream("a.b")
    ('packets.late', '`two words`.late', '`a.b`')
    """
    aside = side_of(name)
    if aside is None or not name.endswith(aside[1]):
        return quote_name(name)
    return f"{quote_name(aside[0].written)}.{aside[1]}"


def side_of(name: str) -> tuple[Name, str] | None:
    """The stream and which of its sides, if a name is that of a side stream.

    >>> side_of("Packets.late"), side_of("packets")
    (('packets', 'late'), None)
    """
    base, _, side = name.rpartition(".")
    return (Name(base), side.lower()) if base and side.lower() in SIDES else None


def set_aside_by(stream: str) -> Name | None:
    """The stream that sets aside what this one has for rows, if it is a side stream."""
    aside = side_of(stream)
    return aside[0] if aside else None


def answered_by(query: str) -> Name | None:
    """The stream of answers that a query is behind, if it is behind one.

    >>> answered_by("stream per_minute"), answered_by("per_minute")
    ('per_minute', None)
    """
    return Name(query.removeprefix(ANSWERS_FOR)) if query.startswith(ANSWERS_FOR) else None


def quote_text(text: str) -> str:
    """A string literal with this value, in Spark's escapes."""
    return "'" + "".join(_ESCAPES.get(char, char) for char in text) + "'"


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


class Name(str):
    """A name in lower case, so that plain equality, hashing and sorting are those of names.

    Keys of dictionaries, of the tick log and of folders are names. `written` is the spelling of
    whoever gave the name, for people to read.

    >>> Name("Packets") == Name("PACKETS"), f"{Name('Packets')} was {Name('Packets').written}"
    (True, 'packets was Packets')
    """

    written: str

    def __new__(cls, text: str) -> Name:
        if isinstance(text, Name):
            return text
        name = super().__new__(cls, text.lower())
        name.written = text
        return name


def by_name(items: Iterable[N]) -> dict[Name, N]:
    """Things that have names, to be found by these."""
    return {Name(item.name): item for item in items}
