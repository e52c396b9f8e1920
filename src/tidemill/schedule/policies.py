"""Policies: which queries are one task, and which tasks run together when one of them runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from tidemill.schedule.hybrid import blocks, freely_shortened
from tidemill.schedule.rates import rate
from tidemill.schedule.soft import JointCost, Soft, Task, merged, subgroups

Joining = Literal["alone", "equal", "late", "late-pending"]


@dataclass(frozen=True)
class Policy:
    """How queries become tasks, and which tasks join the one that is due first.

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


def tasks_of(policy: Policy, queries: Iterable[Soft], cost: JointCost) -> tuple[Task, ...]:
    """The tasks of all groups, in order of group and period."""
    found: list[Task] = []
    for _, mine in groupby(subgroups(queries), key=lambda task: task.group):
        found += _of_group(policy, tuple(mine), cost)
    return tuple(found)


def _of_group(policy: Policy, mine: tuple[Task, ...], cost: JointCost) -> tuple[Task, ...]:
    if policy.tasks == "groups":
        return (merged(mine),)
    if policy.tasks == "subgroups":
        return mine
    found = blocks(mine, cost)
    return freely_shortened(found, cost) if policy.tasks == "free blocks" else found


def policy_rate(policy: Policy, tasks: Iterable[Task], cost: JointCost) -> float:
    """The mean cost of an update under a policy, where there is time for everything."""
    if policy.joining == "alone":
        return sum(rate([task], cost) for task in tasks)
    groups = groupby(tasks, key=lambda task: task.group)
    return sum(rate(tuple(mine), cost) for _, mine in groups)
