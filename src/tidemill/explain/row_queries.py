"""EXPLAIN SHARED of row queries: the rows that they pick, and when these leave."""

from __future__ import annotations

from collections.abc import Iterator

from tidemill import words
from tidemill.explain import phrases
from tidemill.explain.stream_model import Arrangement
from tidemill.plan.joins import in_users_words
from tidemill.plan.relation import source_name, source_names
from tidemill.plan.row_query import RowQuery
from tidemill.state.row_pieces import row_schema

# Shown on a page, before the rest is counted.
MOST_ROW_QUERIES = 24


def explain_rows(arrangement: Arrangement) -> Iterator[str]:
    """All of a stream, a line each."""
    queries, stream = arrangement.row_queries, arrangement.stream.written
    yield f"{words.many(len(queries), 'row query')} on {stream}"
    for query in queries[:MOST_ROW_QUERIES]:
        yield f"  {query.name}: {_rows(query)}, {phrases.leaving(query)}"
    if len(queries) > MOST_ROW_QUERIES:
        yield f"  and {len(queries) - MOST_ROW_QUERIES:,} more"


def explain_row_query(query: RowQuery, is_newcomer: bool) -> str:
    """One of them; it adds nothing to what is kept for others."""
    streams = dict.fromkeys(name.written for name in source_names(query.relation))
    form = "without a window" if query.join is None else "row by row"
    on = f"on {' and '.join(streams)}, {form}"
    lines = [f"if registered, a query {on}" if is_newcomer else f"query {query.name} {on}"]
    for part in query.by_source:
        of = f" of {source_name(part.relation).written}" if query.parts else ""
        lines.append(f"  picks   {_rows(part)}{of}")
    lines.append(words.wrapped("  gives   ", row_schema(query).names))
    lines.append(f"  leaves  {phrases.leaving(query)}")
    lines.append(f"  keeps   {_store(query)}")
    return "\n".join(lines)


def _store(query: RowQuery) -> str:
    if query.join is not None:
        return "the rows that others may meet"
    return "the rows that wait" if query.ordered else "nothing"


def _rows(query: RowQuery) -> str:
    if query.predicate.is_true:
        return "all rows"
    return f"rows where {in_users_words(query.predicate.sql, query.relation.joins)}"
