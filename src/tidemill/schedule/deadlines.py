"""Which task runs next: the one with the fewest updates left, with those that join it.

A task that ran at update u is due again at u + period, and late after that. Nothing runs
before it is due, and nothing runs twice at one update: it would find what it found before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidemill.schedule.policies import Joining
from tidemill.schedule.soft import Task


@dataclass(frozen=True)
class Joint:
    """Tasks of one group that run together now, the most urgent first."""

    tasks: tuple[Task, ...]
    update: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(member.name for task in self.tasks for member in task.members)


@dataclass(frozen=True)
class Deadlines:
    """When each task is due next, as a number of an update."""

    tasks: tuple[Task, ...]
    joining: Joining
    due: Mapping[Task, int] = field(default_factory=dict)

    @staticmethod
    def starting(tasks: Sequence[Task], joining: Joining, update: int) -> Deadlines:
        """Everything is due at once: nobody has an answer yet."""
        return Deadlines(tuple(tasks), joining, dict.fromkeys(tasks, update))

    def left(self, task: Task, update: int) -> int:
        """Updates left before the task is due; negative if it is late."""
        return self.due[task] - update

    def next(self, update: int) -> Joint | None:
        """What to run at this update; None when nothing is due."""
        waiting = [task for task in self.tasks if self.left(task, update) <= 0]
        if not waiting:
            return None
        first = min(waiting, key=lambda task: self._urgency(task, update))
        joined = [t for t in waiting if t.group == first.group and self._joins(t, first, update)]
        joined.sort(key=lambda task: self._urgency(task, update))
        return Joint(tuple(joined), update)

    def done(self, joint: Joint) -> Deadlines:
        """After a run, which counts from the update that it saw."""
        due = {task: joint.update + task.period for task in joint.tasks}
        return replace(self, due={**self.due, **due})

    def _urgency(self, task: Task, update: int) -> tuple[int, int, str, int]:
        return self.left(task, update), -task.priority, task.group, task.period

    def _joins(self, task: Task, first: Task, update: int) -> bool:
        if task == first or self.joining == "alone":
            return task == first
        least = self.left(first, update)
        if least < 0 and self.joining == "late":
            return self.left(task, update) < 0
        if least < 0 and self.joining == "late-pending":
            return True
        return self.left(task, update) == least
