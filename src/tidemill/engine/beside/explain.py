"""EXPLAIN SCHEDULE: when soft queries would run."""

from __future__ import annotations

from collections.abc import Sequence

from tidemill.engine.beside.agenda import JointCosts, soft_of
from tidemill.explain.ruler import DRAWN, ruler
from tidemill.language import render_duration
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.share import EngineCosts, SharedPlan
from tidemill.state.store import Version
from tidemill.words import many

NO_SOFT = "no query with a soft period: write [RANGE r SLIDE UP TO s] or [RANGE r]"


def explain_schedule(
    plan: SharedPlan,
    queries: Sequence[QueryPlan],
    costs: EngineCosts,
    version: Version,
    policy: str,
) -> str:
    """The runs of the soft queries of one stream by each policy, on a ruler of updates."""
    stream, every_us = source_name(queries[0].relation), queries[0].window.update_us
    joint = JointCosts.of(plan, queries, costs, version)
    softs = [soft_of(plan, query) for query in queries]
    drawn = ruler(softs, lambda some: 1000 * joint(some), DRAWN, " ms", policy)
    head = f"{many(len(queries), 'query')} with soft periods on stream {stream.written}"
    return f"{head}, an update every {render_duration(every_us)}\n\n{drawn}"
