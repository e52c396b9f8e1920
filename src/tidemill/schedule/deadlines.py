"""Chooses what runs next: the task with the earliest deadline, or a request that runs once.

A task that ran at update u is due again at u + period, and late after that. Nothing runs
before it is due, and nothing runs twice at one update: its answer would be the same. Where
several updates come at once, the next chance is `ahead` + 1 updates away, and a task that would
be late by then is due now.

>>> from tidemill.schedule.soft import Soft
>>> two, three = (Task("g", p, (Soft(f"every {p}", "g", p),)) for p in (2, 3))
>>> queue = Deadlines.starting([two, three], "equal", update=0)
>>> for update in range(7):
...     while joint := queue.next(update):
...         queue.record_run(joint)
...         print(update, joint.names)
0 ('every 2', 'every 3')
2 ('every 2',)
3 ('every 3',)
4 ('every 2',)
6 ('every 2', 'every 3')

A request is due at the update at which it comes, and takes its place among the deadlines. A
request of higher priority goes before the task that leads, but a late task is overtaken only
once. One number remembers that, since a task that has run is due after all that were late.

>>> late = Task("g", 2, (Soft("periodic", "g", 2),))
>>> queue = Deadlines.starting([late], "equal", update=7, ran={"periodic": 3})
>>> requests = OneTimeRequests().coming(OneTimeRequest("a", 7, priority=1))
>>> requests = requests.coming(OneTimeRequest("b", 7, priority=1))
>>> first = requests.next(queue, 7)
>>> first
OneTimeRequest(name='a', update=7, priority=1)
>>> requests.without(first).next(queue, 7).names
('periodic',)
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidemill.schedule.policies import Joining
from tidemill.schedule.soft import Task

# Deadline, then what breaks a tie; last the name of a member, which is nobody else's.
Urgency = tuple[int, int, str, int, str]


@dataclass(frozen=True)
class Joint:
    """Tasks of one group that run together now, the most urgent first.

    Of a task whose members came from others, some may have seen the update already.
    """

    tasks: tuple[Task, ...]
    update: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(member.name for task in self.tasks for member in task.members)


class Deadlines:
    """The update at which each task is due next; `record_run` moves it."""

    def __init__(self, joining: Joining, due: Mapping[Task, int], ran: Mapping[Task, int]) -> None:
        self.joining = joining
        self._due, self._ran = dict(due), dict(ran)
        self._named = {task.members[0].name: task for task in due}
        self._groups: dict[str, list[Task]] = {}
        for task in due:
            self._groups.setdefault(task.group, []).append(task)
        # A task that runs gets another entry; the old one is dropped when it comes to the top.
        self._heap = [self._urgency(task) for task in due]
        heapq.heapify(self._heap)
        # Entries of tasks that have seen this update wait here for the one after it.
        self._parked: list[Urgency] = []
        self._parked_at = 0

    @staticmethod
    def starting(
        tasks: Sequence[Task], joining: Joining, update: int, ran: Mapping[str, int] = {}
    ) -> Deadlines:
        """Whoever ran keeps its deadline; a task with a query that never ran is due at once."""
        due, last_run = {}, {}
        for task in tasks:
            names = [member.name for member in task.members]
            due[task] = min(ran[n] + task.period if n in ran else update for n in names)
            last_run[task] = min(ran.get(n, update - 1) for n in names)
        return Deadlines(joining, due, last_run)

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(self._due)

    def left(self, task: Task, update: int) -> int:
        """Updates left before the task is due; negative if it is late."""
        return self._due[task] - update

    def next(self, update: int, ahead: int = 0) -> Joint | None:
        """The tasks to run at this update; None when nothing is due. Asking changes nothing."""
        first = self._first(update)
        if first is None or self.left(first, update) > ahead:
            return None
        near = [task for task in self._groups[first.group] if self._ran[task] < update]
        joined = [task for task in near if self._joins(task, first, update, ahead)]
        return Joint(tuple(sorted(joined, key=self._urgency)), update)

    def record_run(self, joint: Joint) -> None:
        """Notes a run, which counts from the update that it saw."""
        for task in joint.tasks:
            self._due[task] = joint.update + task.period
            self._ran[task] = joint.update
            heapq.heappush(self._heap, self._urgency(task))

    def _first(self, update: int) -> Task | None:
        """The most urgent of those that have not seen this update."""
        if self._parked_at != update:
            for entry in self._parked:
                heapq.heappush(self._heap, entry)
            self._parked, self._parked_at = [], update
        while self._heap:
            task = self._named[self._heap[0][-1]]
            is_current = self._heap[0] == self._urgency(task)
            if is_current and self._ran[task] < update:
                return task
            entry = heapq.heappop(self._heap)
            if is_current:
                self._parked.append(entry)
        return None

    def _urgency(self, task: Task) -> Urgency:
        return self._due[task], -task.priority, task.group, task.period, task.members[0].name

    def _joins(self, task: Task, first: Task, update: int, ahead: int) -> bool:
        if task == first or self.joining == "alone":
            return task == first
        # Left are chances rather than updates: what is due before the next one is due now.
        left, least = (self.left(t, update) // (ahead + 1) for t in (task, first))
        if least < 0 and self.joining == "late":
            return left < 0
        if least < 0 and self.joining == "late-pending":
            return left <= 0
        return left == least


@dataclass(frozen=True)
class OneTimeRequest:
    """A query that is to be answered once; it came at this update."""

    name: str
    update: int
    priority: int = 0


@dataclass(frozen=True)
class OneTimeRequests:
    """Requests that wait, and the deadline up to which every task has been overtaken."""

    waiting: tuple[OneTimeRequest, ...] = ()
    overtaken_until: float = -math.inf

    def coming(self, request: OneTimeRequest) -> OneTimeRequests:
        return replace(self, waiting=(*self.waiting, request))

    def next(
        self, deadlines: Deadlines, update: int, ahead: int = 0
    ) -> OneTimeRequest | Joint | None:
        """The request or the tasks to run now; None when there is nothing to do."""
        joint = deadlines.next(update, ahead)
        if not self.waiting:
            return joint
        oldest = min(self.waiting, key=_urgency)
        leading: OneTimeRequest | Joint = oldest
        due, priority = oldest.update, oldest.priority
        if joint is not None:
            task = joint.tasks[0]
            task_due = update + deadlines.left(task, update)
            # Of equals the request goes first: a task has an older answer to show.
            if (task_due, -task.priority) < (due, -priority):
                leading, due, priority = joint, task_due, task.priority
        dearest = min(self.waiting, key=lambda r: (-r.priority, *_urgency(r)))
        may_overtake = dearest.priority > priority and due > self.overtaken_until
        return dearest if may_overtake else leading

    def without(self, request: OneTimeRequest) -> OneTimeRequests:
        """Those left after its run, for which all waited that was due before it came."""
        until = max(self.overtaken_until, request.update - 1)
        return OneTimeRequests(tuple(r for r in self.waiting if r != request), until)


def _urgency(request: OneTimeRequest) -> tuple[int, int]:
    """Of equals the one goes first that came first, as they wait in that order."""
    return request.update, -request.priority
