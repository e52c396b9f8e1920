"""Row queries in the plan: they share the reading of the rows, and nothing that is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidemill.plan.query import QueryPlan
from tidemill.plan.row_query import AnyQuery, RowQuery
from tidemill.share.model import SharedPlan
from tidemill.state.row_pieces import RowFeed


def windowed(queries: Iterable[AnyQuery]) -> list[QueryPlan]:
    """The queries with a window."""
    return [query for query in queries if isinstance(query, QueryPlan)]


def with_row_queries(plan: SharedPlan, queries: Sequence[AnyQuery]) -> SharedPlan:
    """The plan with just those of the queries that have no window; the same if it has them.

    One that stays goes on with the rows that it holds.
    """
    wishes = [query for query in queries if isinstance(query, RowQuery)]
    feeds = {feed.query: feed for feed in plan.row_feeds}
    if list(feeds) == wishes:
        return plan
    number = plan.next_synopsis
    for query in wishes:
        if query not in feeds:
            feeds[query] = RowFeed(f"r{number}", query)
            number += 1
    return replace(
        plan,
        version=plan.version + 1,
        row_feeds=tuple(feeds[query] for query in wishes),
        next_synopsis=number,
    )
