"""Queries with soft periods, and the tasks that a schedule makes of them.

A synopsis is updated again and again. A query with a soft period allows so many updates between
two of its runs: sooner is welcome where it saves work, later happens only under overload.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, order=True)
class Soft:
    """A query that allows `period` updates between its runs; one of higher priority goes first.

    Queries of one group read the same synopsis, so that they can run together for less.
    """

    name: str
    group: str
    period: int
    priority: int = 0


@dataclass(frozen=True)
class Task:
    """Queries of one group that always run together, at most `period` updates apart."""

    group: str
    period: int
    members: tuple[Soft, ...]

    @property
    def priority(self) -> int:
        return max(member.priority for member in self.members)


class JointCost(Protocol):
    """The cost of running some queries of one group together, in any unit."""

    def __call__(self, queries: Sequence[Soft]) -> float: ...


def subgroups(queries: Iterable[Soft]) -> tuple[Task, ...]:
    """The queries of each group that have one period, by group, then period.

    >>> [(task.period, len(task.members)) for task in subgroups(
    ...     [Soft("a", "g", 3), Soft("b", "g", 2), Soft("c", "g", 3)])]
    [(2, 1), (3, 2)]
    """
    by_period: dict[tuple[str, int], list[Soft]] = {}
    for query in sorted(queries):
        by_period.setdefault((query.group, query.period), []).append(query)
    return tuple(Task(*key, tuple(members)) for key, members in sorted(by_period.items()))


def merge_tasks(tasks: Sequence[Task]) -> Task:
    """Tasks of one group made one, with the shortest of their periods."""
    members = tuple(member for task in tasks for member in task.members)
    return Task(tasks[0].group, min(task.period for task in tasks), members)
