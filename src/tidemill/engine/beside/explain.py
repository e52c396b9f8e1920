"""EXPLAIN SCHEDULE: when soft queries would run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tidemill.durations import render_duration
from tidemill.engine.beside.agenda import JointCosts, soft_of
from tidemill.explain.ruler import DRAWN, ruler
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.schedule import JointCost
from tidemill.settings import Settings
from tidemill.share import EngineCosts, SharedPlan
from tidemill.state.store import Version
from tidemill.words import many

PAPERS = "by the papers' count, the merges of the longest window of a run; runs go by the machine's"
NO_SOFT = "no query with a soft period: write [RANGE r SLIDE UP TO s] or [RANGE r]"


def explain_schedule(
    plan: SharedPlan,
    queries: Sequence[QueryPlan],
    costs: EngineCosts,
    version: Version,
    settings: Settings,
) -> str:
    """The runs of the soft queries of one stream by each policy, on a ruler of updates."""
    stream, every_us = source_name(queries[0].relation), queries[0].window.update_us
    softs = [soft_of(plan, query) for query in queries]
    head = f"{many(len(queries), 'query')} with soft periods on stream {stream.written}"
    head = f"{head}, an update every {render_duration(every_us)}"
    if settings.schedule_costs == "papers":
        # Tasks by this count are not those that run, so none is said to be in force.
        drawn = ruler(softs, merges_of_longest(queries), DRAWN, " merges")
        return f"{head}\n{PAPERS}\n\n{drawn}"
    joint = JointCosts.of(plan, queries, costs, version)
    drawn = ruler(softs, lambda some: 1000 * joint(some), DRAWN, " ms", settings.schedule)
    return f"{head}\n\n{drawn}"


def merges_of_longest(queries: Sequence[QueryPlan]) -> JointCost:
    """As the papers count: a run merges the updates of its longest window, and nothing else."""
    merges = {q.name: math.ceil(max(q.window.ranges_us) / q.window.update_us) - 1 for q in queries}
    return lambda some: max(merges[query.name] for query in some)
