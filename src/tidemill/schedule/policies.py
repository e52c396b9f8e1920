"""Policies: how queries become tasks, and which tasks run together when one of them runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from tidemill.schedule.hybrid import freely_shortened, hybrid_blocks
from tidemill.schedule.rates import cost_of_update
from tidemill.schedule.soft import JointCost, Soft, Task, merge_tasks, subgroups

Joining = Literal["alone", "equal", "late", "late-pending"]


@dataclass(frozen=True)
class Policy:
    """A way to make tasks of queries, and to choose the tasks that join the one due first.

    `alone`: none. `equal`: those that have as many updates left. Under overload, `late` joins
    all that are late, and `late-pending` also those that are due now.
    """

    tasks: Literal["subgroups", "groups", "blocks", "free blocks"]
    joining: Joining


POLICIES: Mapping[str, Policy] = {
    "none": Policy("subgroups", "alone"),
    "aggressive": Policy("groups", "equal"),
    "conservative": Policy("subgroups", "equal"),
    "conservative-late": Policy("subgroups", "late"),
    "conservative-late-pending": Policy("subgroups", "late-pending"),
    "hybrid": Policy("blocks", "equal"),
    "hybrid-late": Policy("blocks", "late"),
    "hybrid-late-pending": Policy("blocks", "late-pending"),
    "free": Policy("free blocks", "late-pending"),
}


def policy_tasks(policy: Policy, queries: Iterable[Soft], cost: JointCost) -> tuple[Task, ...]:
    """The tasks of all groups, in order of group and period."""
    tasks: list[Task] = []
    for _, members in groupby(subgroups(queries), key=lambda task: task.group):
        tasks += _tasks_of_group(policy, tuple(members), cost)
    return tuple(tasks)


def _tasks_of_group(policy: Policy, parts: tuple[Task, ...], cost: JointCost) -> tuple[Task, ...]:
    if policy.tasks == "groups":
        return (merge_tasks(parts),)
    if policy.tasks == "subgroups":
        return parts
    blocks = hybrid_blocks(parts, cost)
    return freely_shortened(blocks, cost) if policy.tasks == "free blocks" else blocks


def cost_of_policy(policy: Policy, tasks: Iterable[Task], cost: JointCost) -> float:
    """The mean cost of an update under a policy, where there is time for everything."""
    if policy.joining == "alone":
        return sum(cost_of_update([task], cost) for task in tasks)
    groups = groupby(tasks, key=lambda task: task.group)
    return sum(cost_of_update(tuple(members), cost) for _, members in groups)
