"""Every policy under every load: medians over several draws, with the least and the greatest."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from _schedules.costs import MODELS
from _schedules.simulation import Span, simulate
from _schedules.workload import Workload, draw
from tidemill.schedule.policies import POLICIES, cost_of_policy, policy_tasks
from tidemill.schedule.soft import JointCost, Task, subgroups

LONG = Span(warm_s=100, measured_s=200)
RATES = {"low": 1, "high": 2}  # the second has twice as many distinct values


@dataclass(frozen=True)
class Scale:
    """The size of the study."""

    queries: tuple[int, ...] = (40, 80, 160, 240)
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    span: Span = LONG


FULL = Scale()
QUICK = Scale((40, 160), (1,), Span(warm_s=60, measured_s=60))
Figures = dict[str, float]


@dataclass(frozen=True)
class Row:
    """One policy under one load; a figure is its median, its least and its greatest."""

    model: str
    rate: str
    queries: int
    policy: str
    figures: dict[str, tuple[float, float, float]]


def study(scale: Scale, model: str) -> Iterator[Row]:
    for rate, values in RATES.items():
        for count in scale.queries:
            loads = [draw(count, scale.span.end_s, seed) for seed in scale.seeds]
            found = [_tried(load, model, values, scale.span) for load in loads]
            for policy in POLICIES:
                yield Row(model, rate, count, policy, _spread([one[policy] for one in found]))


def _tried(load: Workload, model: str, values: int, span: Span) -> dict[str, Figures]:
    cost = MODELS[model].cost(load.windows, values)
    known: dict[str, tuple[Task, ...]] = {}
    for policy in POLICIES.values():
        if policy.tasks not in known:
            known[policy.tasks] = policy_tasks(policy, load.queries, cost)
    return {name: _measured(name, known, load, cost, span) for name in POLICIES}


def _measured(
    name: str, known: dict[str, tuple[Task, ...]], load: Workload, cost: JointCost, span: Span
) -> Figures:
    policy = POLICIES[name]
    tasks = known[policy.tasks]
    measures = simulate(load, policy, tasks, cost, span).measures()
    once = sum(cost([one.query]) for one in load.one_time) / span.end_s
    return asdict(measures) | {
        "load": cost_of_policy(policy, tasks, cost) + once,
        "tasks": len(tasks) / len(subgroups(load.queries)),
    }


def _spread(found: Sequence[Figures]) -> dict[str, tuple[float, float, float]]:
    every = {name: [one[name] for one in found] for name in found[0]}
    return {name: (statistics.median(x), min(x), max(x)) for name, x in every.items()}


def rows_as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        asdict(row) | {"figures": {k: [round(x, 5) for x in v] for k, v in row.figures.items()}}
        for row in rows
    ]
