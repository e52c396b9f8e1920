"""The same query as Structured Streaming and as Flink write it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workload import TOP, Query

_AS = re.compile(r" AS (\w+)")


def spark_sql(query: Query) -> str:
    """Without its top: append mode sorts nothing, so that is done on the finished windows."""
    window = f"window(ts, '{query.range_s} seconds', '{query.slide_s} seconds')"
    return _joined(
        f"SELECT window.start AS window_start, window.end AS window_end, {query.columns}",
        "FROM packets",
        query.where and f"WHERE {query.where}",
        f"GROUP BY {', '.join((window, *query.keys))}",
        query.having and f"HAVING {query.having}",
    )


def flink_sql(query: Query) -> str:
    """A window aggregation, and a window top-N over it."""
    columns = _AS.sub(r" AS `\1`", query.columns)
    slide, range_ = _interval(query.slide_s), _interval(query.range_s)
    grouped = _joined(
        f"SELECT window_start, window_end, {columns}",
        f"FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), {slide}, {range_}))",
        query.where and f"WHERE {query.where}",
        f"GROUP BY {', '.join(('window_start', 'window_end', *query.keys))}",
        query.having and f"HAVING {query.having}",
    )
    if query.top is None:
        return grouped
    names = ", ".join(
        ("window_start", "window_end", *query.keys, *map(quoted, output_names(query)))
    )
    ranked = (
        f"SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
        f"ORDER BY `{query.top}` DESC) AS place FROM ({grouped})"
    )
    return f"SELECT {names} FROM ({ranked}) WHERE place <= {TOP}"


def output_names(query: Query) -> Sequence[str]:
    return [aggregate.partition(" AS ")[2] for aggregate in query.aggregates]


def quoted(name: str) -> str:
    """Flink has more reserved words than others; BYTES is one."""
    return f"`{name}`"


def _interval(seconds: int) -> str:
    return f"INTERVAL '{seconds}' SECOND(3)"


def _joined(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)
