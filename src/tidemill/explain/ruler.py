"""Draws the runs of each policy on a ruler of updates, with time enough for everything.

>>> queries = [Soft("a", "g", 2), Soft("b", "g", 3)]
>>> print(ruler(queries, lambda queries: 10.0, ["conservative"]))
conservative, conservative-late, conservative-late-pending: 6.667 an update, 2 tasks
     every  cost  queries
  1      2    10  a
  2      3    10  b
     0     6
  1  ●·○·○·●
  2  ●··○··●
<BLANKLINE>
○ runs alone   ● runs together with others in the same column
Schedules of one block differ only under overload, when the late ones run all that are late
together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten

from tidemill.schedule.deadlines import Deadlines
from tidemill.schedule.policies import POLICIES, Policy, cost_of_policy, policy_tasks
from tidemill.schedule.soft import JointCost, Soft, Task

# The late variants of these run the same where there is time for everything.
DRAWN = ("none", "aggressive", "conservative", "hybrid", "free")
WIDTH = 100
MOST_UPDATES = 60
# Of a group with more tasks, the rest are counted.
MOST_TASKS = 30
LEGEND = """○ runs alone   ● runs together with others in the same column
Schedules of one block differ only under overload, when the late ones run all that are late
together."""


@dataclass(frozen=True)
class DrawnPolicy:
    """A policy and the tasks that it makes of the queries."""

    name: str
    policy: Policy
    tasks: tuple[Task, ...]

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(task.group for task in self.tasks))


def ruler(
    queries: Sequence[Soft],
    cost: JointCost,
    policies: Sequence[str] = DRAWN,
    unit: str = "",
    in_force: str = "",
) -> str:
    """A block for each policy, all on the same scale; costs are told in the unit."""
    chosen = [(name, POLICIES[name]) for name in policies]
    plans = [
        DrawnPolicy(name, policy, policy_tasks(policy, queries, cost)) for name, policy in chosen
    ]
    periods = [task.period for plan in plans for task in plan.tasks]
    # The last column is that in which everything is due at once again, if there is room for it.
    updates = min(math.lcm(*periods), MOST_UPDATES) + 1
    blocks = ["\n".join(_block(plan, cost, updates, unit, in_force)) for plan in plans]
    return "\n\n".join([*blocks, LEGEND])


def _block(
    plan: DrawnPolicy, cost: JointCost, updates: int, unit: str, in_force: str
) -> Iterator[str]:
    price = cost_of_policy(plan.policy, plan.tasks, cost)
    noun = "task" if len(plan.tasks) == 1 else "tasks"
    yield f"{_title(plan, in_force)}: {price:.4g}{unit} an update, {len(plan.tasks)} {noun}"
    marks = _marks(plan, updates)
    for group in plan.groups:
        members = [task for task in plan.tasks if task.group == group]
        if len(plan.groups) > 1:
            yield f" {group}"
        shown = members[:MOST_TASKS]
        yield from _table(shown, cost, unit)
        if len(members) > len(shown):
            yield f"     and {len(members) - len(shown)} more"
        yield f"     {scale(updates)}"
        yield from (f"{number:3}  {marks[task]}" for number, task in enumerate(shown, start=1))


def _title(plan: DrawnPolicy, in_force: str) -> str:
    """The policy and all that run the same with time for everything."""
    alike = [name for name, policy in POLICIES.items() if _is_alike(policy, plan.policy)]
    return ", ".join(f"{name} (in force)" if name == in_force else name for name in alike)


def _is_alike(policy: Policy, other: Policy) -> bool:
    """With the same tasks, and joining or not: which ones join shows only under overload."""
    return policy.tasks == other.tasks and (policy.joining == "alone") == (other.joining == "alone")


def _table(tasks: Sequence[Task], cost: JointCost, unit: str) -> Iterator[str]:
    costs = [f"{cost(task.members):.4g}{unit}" for task in tasks]
    width = max(len(text) for text in ("cost", *costs))
    yield f"     every  {'cost':>{width}}  queries"
    for number, (task, price) in enumerate(zip(tasks, costs, strict=True), start=1):
        names = " ".join(member.name for member in task.members)
        head = f"{number:3} {task.period:6}  {price:>{width}}  "
        yield head + shorten(names, WIDTH - len(head), placeholder=" …")


def scale(updates: int) -> str:
    """Numbers of updates, each over its column; the last one is always there.

    >>> scale(22)
    '0         10         21'
    """
    line = "0"
    last = str(updates - 1)
    for mark in range(10, updates, 10):
        if mark + len(str(mark)) < updates - 1:
            line = line.ljust(mark) + str(mark)
    return line.ljust(updates - 1) + last if updates > 1 else line


def _marks(plan: DrawnPolicy, updates: int) -> dict[Task, str]:
    """A mark for each update of the task, found by running the schedule."""
    queue = Deadlines.starting(plan.tasks, plan.policy.joining, 0)
    marks = {task: ["·"] * updates for task in plan.tasks}
    for update in range(updates):
        while joint := queue.next(update):
            queue.record_run(joint)
            for task in joint.tasks:
                marks[task][update] = "●" if len(joint.tasks) > 1 else "○"
    return {task: "".join(signs) for task, signs in marks.items()}
