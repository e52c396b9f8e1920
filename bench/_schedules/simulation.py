"""One machine with a virtual clock: a run takes what it costs, and updates do not wait for it."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from _schedules.measures import Followed
from _schedules.workload import Workload
from tidemill.schedule.deadlines import Deadlines, OneTimeRequest, OneTimeRequests
from tidemill.schedule.policies import Policy
from tidemill.schedule.soft import JointCost, Task


@dataclass(frozen=True)
class Span:
    """Seconds until everything has filled, and seconds that are measured after that."""

    warm_s: int
    measured_s: int

    @property
    def end_s(self) -> int:
        return self.warm_s + self.measured_s


def simulate(
    load: Workload, policy: Policy, tasks: tuple[Task, ...], cost: JointCost, span: Span
) -> Followed:
    """Everything that ran, as it was followed from the end of the warm-up on."""
    queue, requests = Deadlines.starting(tasks, policy.joining, 0), OneTimeRequests()
    coming = deque(load.one_time)
    asked = {one.query.name: one for one in load.one_time}
    followed = Followed(load.queries, span.warm_s, span.end_s)
    now_s = 0.0
    while now_s < span.end_s:
        while coming and coming[0].at_s <= now_s:
            one = coming.popleft()
            requests = requests.coming(OneTimeRequest(one.query.name, int(one.at_s)))
        update = int(now_s)
        chosen = requests.next(queue, update)
        if chosen is None:
            then_s = float(math.floor(now_s) + 1)
            now_s = min(then_s, coming[0].at_s) if coming else then_s
        elif isinstance(chosen, OneTimeRequest):
            one = asked[chosen.name]
            now_s += cost([one.query])
            requests = requests.without(chosen)
            followed.answered(one.at_s, now_s)
        else:
            members = [member for task in chosen.tasks for member in task.members]
            now_s += cost(members)
            queue.record_run(chosen)
            followed.ran(members, update, now_s)
    return followed
