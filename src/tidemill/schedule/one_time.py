"""Requests that run once, in between tasks that run again and again.

A request is due at the update at which it comes, and takes its place among the deadlines. A
request of higher priority goes before the task that leads, but a late task is overtaken only
once. One number remembers that, since a task that has run is due after all that were late.

>>> from tidemill.schedule.soft import Soft, Task
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

import math
from dataclasses import dataclass, replace

from tidemill.schedule.deadlines import Deadlines, Joint


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
