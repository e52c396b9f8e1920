"""Requests that run once, in between tasks that run again and again.

A request is due at the update at which it comes and takes its place among deadlines. One of
higher priority than what leads goes before it, but whatever is late is overtaken once only: a
number is enough to remember that, since a task that has run is due after all that were late.

>>> from tidemill.schedule.soft import Soft, Task
>>> late = Task("g", 2, (Soft("periodic", "g", 2),))
>>> queue = Deadlines.starting([late], "equal", update=7, ran={"periodic": 3})
>>> requests = Requests().coming(Request("a", 7, priority=1)).coming(Request("b", 7, priority=1))
>>> first = requests.next(queue, 7)
>>> first
Request(name='a', update=7, priority=1)
>>> requests.done(first).next(queue, 7).names
('periodic',)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tidemill.schedule.deadlines import Deadlines, Joint


@dataclass(frozen=True)
class Request:
    """A query that is to be answered once; it came at this update."""

    name: str
    update: int
    priority: int = 0


@dataclass(frozen=True)
class Requests:
    """Those that wait, and up to which deadline everything has been overtaken."""

    waiting: tuple[Request, ...] = ()
    overtaken_until: float = -math.inf

    def coming(self, request: Request) -> Requests:
        return replace(self, waiting=(*self.waiting, request))

    def next(self, deadlines: Deadlines, update: int, ahead: int = 0) -> Request | Joint | None:
        """What runs now, of requests and tasks; None when there is nothing to do."""
        joint = deadlines.next(update, ahead)
        if not self.waiting:
            return joint
        oldest = min(self.waiting, key=_urgency)
        leading: Request | Joint = oldest
        due, priority = oldest.update, oldest.priority
        if joint is not None:
            task = joint.tasks[0]
            task_due = update + deadlines.left(task, update)
            # Of equals the request goes first: a task has an older answer to show.
            if (task_due, -task.priority) < (due, -priority):
                leading, due, priority = joint, task_due, task.priority
        dearest = min(self.waiting, key=lambda one: (-one.priority, *_urgency(one)))
        may_overtake = dearest.priority > priority and due > self.overtaken_until
        return dearest if may_overtake else leading

    def done(self, request: Request) -> Requests:
        """After its run, for which everything waited that was due before it came."""
        until = max(self.overtaken_until, request.update - 1)
        return Requests(tuple(one for one in self.waiting if one != request), until)


def _urgency(request: Request) -> tuple[int, int]:
    """Of equals the one goes first that came first, as they wait in that order."""
    return request.update, -request.priority
