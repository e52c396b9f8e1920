"""OneTimeRequests among tasks: none starves, and what is late is overtaken once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tidemill.schedule.deadlines import Deadlines, Joint, OneTimeRequest, OneTimeRequests
from tidemill.schedule.soft import Soft, Task

periods = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3)), min_size=1, max_size=8)
# At each update the priorities of those that come; two runs in each, so it is an overload.
arrivals = st.lists(st.lists(st.integers(0, 4), max_size=3), min_size=1, max_size=25)


def tasks_with(found: Sequence[tuple[int, int]]) -> list[Task]:
    queries = [Soft(f"q{n}", f"g{n}", period, rank) for n, (period, rank) in enumerate(found)]
    return [Task(query.group, query.period, (query,)) for query in queries]


def requests_with(came: Sequence[Sequence[int]]) -> list[list[OneTimeRequest]]:
    return [
        [OneTimeRequest(f"r{update}-{number}", update, rank) for number, rank in enumerate(ranks)]
        for update, ranks in enumerate(came)
    ]


class Run:
    """Two runs an update, and for every late thing how often it was overtaken."""

    def __init__(self, tasks: Sequence[Task], came: Sequence[Sequence[OneTimeRequest]]) -> None:
        self.queue = Deadlines.starting(tasks, "alone", 0)
        self.requests = OneTimeRequests()
        self.overtaken: Counter[object] = Counter()
        self.most_overtaken = 0
        self.order: list[OneTimeRequest | Joint] = []
        for update in range(len(came) + 80):
            for request in came[update] if update < len(came) else ():
                self.requests = self.requests.coming(request)
            for _ in range(2):
                self.step(update)

    def step(self, update: int) -> None:
        chosen = self.requests.next(self.queue, update)
        if isinstance(chosen, OneTimeRequest):
            self.requests = self.requests.without(chosen)
            self.count(chosen, update)
            self.overtaken.pop(chosen, None)
        elif chosen is not None:
            self.queue.record_run(chosen)
            for task in chosen.tasks:
                self.overtaken.pop(task, None)
        if chosen is not None:
            self.order.append(chosen)

    def count(self, chosen: OneTimeRequest, update: int) -> None:
        """Everything that was due before the request came has been overtaken by it."""
        lefts = {task: self.queue.left(task, update) for task in self.queue.tasks}
        dues = {task: update + left for task, left in lefts.items()}
        waiting = dues | {one: one.update for one in self.requests.waiting}
        self.overtaken.update(thing for thing, due in waiting.items() if due < chosen.update)
        self.most_overtaken = max(self.most_overtaken, *self.overtaken.values(), 0)


@given(periods, arrivals)
def test_every_request_runs_once_and_nothing_late_is_overtaken_twice(found, came):
    asked = requests_with(came)
    run = Run(tasks_with(found), asked)
    ran = [one for one in run.order if isinstance(one, OneTimeRequest)]
    assert sorted(one.name for one in ran) == sorted(one.name for each in asked for one in each)
    assert run.most_overtaken <= 1


@given(periods, arrivals)
def test_without_requests_the_deadlines_decide(found, came):
    tasks = tasks_with(found)
    alone, queue = Run(tasks, [[] for _ in came]), Deadlines.starting(tasks, "alone", 0)
    for joint in alone.order:
        assert isinstance(joint, Joint)
        assert queue.next(joint.update) == joint
        queue.record_run(joint)


def late_task(priority: int) -> Deadlines:
    """Due at update 5."""
    query = Soft("task", "g", 2, priority)
    return Deadlines.starting([Task("g", 2, (query,))], "equal", 9, {"task": 3})


def chosen(queue: Deadlines, update: int, *requests: OneTimeRequest) -> str:
    waiting = OneTimeRequests()
    for request in requests:
        waiting = waiting.coming(request)
    found = waiting.next(queue, update)
    assert found is not None
    return found.name if isinstance(found, OneTimeRequest) else found.names[0]


def test_deadlines_decide_among_equal_priorities_and_the_request_among_equals():
    assert chosen(late_task(0), 9, OneTimeRequest("r", 9)) == "task"
    assert chosen(late_task(0), 9, OneTimeRequest("r", 6)) == "task"
    assert chosen(late_task(0), 9, OneTimeRequest("r", 5)) == "r"
    assert chosen(late_task(1), 9, OneTimeRequest("r", 5)) == "task"
    assert chosen(late_task(1), 9, OneTimeRequest("r", 4)) == "r"


def test_a_dear_request_goes_first():
    assert chosen(late_task(1), 9, OneTimeRequest("r", 9, 2)) == "r"
    assert chosen(late_task(1), 9, OneTimeRequest("old", 2), OneTimeRequest("r", 9, 2)) == "r"
    assert chosen(late_task(2), 9, OneTimeRequest("old", 2), OneTimeRequest("r", 9, 2)) == "r"


def test_what_is_not_due_yet_does_not_keep_a_request_waiting():
    queue = late_task(9)
    joint = queue.next(9)
    assert joint is not None
    queue.record_run(joint)
    assert chosen(queue, 10, OneTimeRequest("r", 10)) == "r"
