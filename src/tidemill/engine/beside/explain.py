"""EXPLAIN SCHEDULE and SHOW SCHEDULE: when soft queries would run, and when they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from tidemill.catalog.names import Name
from tidemill.engine.beside.agenda import soft_of
from tidemill.engine.beside.costs import JointCosts
from tidemill.engine.tick.journal import QueryState
from tidemill.language import render_duration
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.schedule import DRAWN, ruler
from tidemill.share import EngineCosts, SharedPlan
from tidemill.state.store import Version
from tidemill.words import many, span

SCHEDULE_COLUMNS = (
    *("query", "asked", "achieved", "late", "last run", "with", "runs", "useful", "extra"),
    "stale",
)
NO_SOFT = "no query with a soft period: write [RANGE r SLIDE UP TO s] or [RANGE r]"


def explain_schedule(
    plan: SharedPlan,
    queries: Sequence[QueryPlan],
    costs: EngineCosts,
    version: Version,
    policy: str,
) -> str:
    """What each policy makes of the soft queries of one stream, on a ruler of updates."""
    stream, every_us = source_name(queries[0].relation), queries[0].window.update_us
    joint = JointCosts.of(plan, queries, costs, version)
    softs = [soft_of(plan, query) for query in queries]
    drawn = ruler(softs, lambda some: 1000 * joint(some), DRAWN, " ms", policy)
    head = f"{many(len(queries), 'query')} with soft periods on stream {stream.written}"
    return f"{head}, an update every {render_duration(every_us)}\n\n{drawn}"


def schedule_rows(
    queries: Sequence[QueryPlan],
    states: Mapping[str, QueryState],
    watermark_of: Callable[[Name], int | None],
) -> Iterator[tuple[str, ...]]:
    """Every soft query with what it asked for and what it got, counted in updates."""
    for query in queries:
        window, history = query.window, states.get(query.name, QueryState()).history
        watermark_us = watermark_of(source_name(query.relation))
        update = 0 if watermark_us is None else watermark_us // window.update_us
        achieved = history.achieved
        yield (
            query.name,
            span(window.slide_us) if window.slide_us else "every update",
            "" if achieved is None else span(int(achieved * window.update_us) // 1000 * 1000),
            str(history.late(update, window.updates)),
            _instant(history.ran_us) if history.runs else "",
            str(history.together - 1) if history.runs else "",
            str(history.runs),
            f"{history.useful:.1f}",
            f"{history.extra_between:.2g}",
            f"{history.staleness:.2g}",
        )


def _instant(t_us: int) -> str:
    return datetime.fromtimestamp(t_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
