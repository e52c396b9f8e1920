"""What is promised of every policy, in simulations without a clock."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest

from tidemill.schedule.deadlines import Deadlines, Joint
from tidemill.schedule.policies import POLICIES, Policy, tasks_of
from tidemill.schedule.soft import Soft

each_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))


def random_queries(rng: random.Random, count: int) -> list[Soft]:
    return [
        Soft(f"q{n}", rng.choice("abc"), rng.randint(1, 12), rng.choice((0, 0, 5)))
        for n in range(count)
    ]


def begin(policy: Policy, queries: list[Soft]) -> Deadlines:
    tasks = tasks_of(policy, queries, lambda some: 3 + len(some))
    return Deadlines.starting(tasks, policy.joining, 0)


def run(queue: Deadlines, updates: int, capacity: int) -> tuple[list[Joint], Deadlines]:
    """So many joint runs between updates."""
    ran = []
    for update in range(updates):
        for _ in range(capacity):
            if (joint := queue.next(update)) is None:
                break
            ran.append(joint)
            queue = queue.done(joint)
    return ran, queue


@each_policy
def test_with_enough_capacity_no_query_waits_longer_than_it_allows(policy: Policy) -> None:
    for seed in range(10):
        queries = random_queries(random.Random(seed), 12)
        ran, _ = run(begin(policy, queries), 60, capacity=100)
        for query in queries:
            seen = [joint.update for joint in ran if query.name in joint.names]
            gaps = [b - a for a, b in zip(seen, [*seen[1:], 60], strict=True)]
            assert seen[0] == 0
            assert max(gaps) <= query.period


@each_policy
def test_the_least_deadline_goes_first_and_nothing_runs_twice_at_one_update(policy: Policy) -> None:
    queue = begin(policy, random_queries(random.Random(3), 20))
    runs = 0
    for update in range(40):
        for _ in range(2):
            joint = queue.next(update)
            if joint is None:
                break
            least = min(queue.left(task, update) for task in queue.tasks)
            assert queue.left(joint.tasks[0], update) == least <= 0
            assert len({task.group for task in joint.tasks}) == 1
            queue, runs = queue.done(joint), runs + 1
            assert all(queue.left(task, update) >= 1 for task in joint.tasks)
    assert runs > 20


@each_policy
def test_nobody_starves_under_overload(policy: Policy) -> None:
    late: Counter[Policy] = Counter()
    for seed in range(5):
        queries = random_queries(random.Random(seed), 30)
        queue = begin(policy, queries)
        ran, _ = run(queue, 400, capacity=1)
        for query in queries:
            seen = [joint.update for joint in ran if query.name in joint.names]
            waits = [b - a for a, b in pairwise([0, *seen, 400])]
            # Whoever is late has only to wait for those that were due before it.
            assert max(waits) <= query.period + len(queue.tasks)
            late[policy] += max(waits) > query.period
    assert late[policy] or policy.tasks == "groups"  # it was an overload


@each_policy
def test_decisions_are_deterministic(policy: Policy) -> None:
    queries = random_queries(random.Random(8), 15)
    backwards = list(reversed(queries))
    assert run(begin(policy, queries), 50, 1)[0] == run(begin(policy, backwards), 50, 1)[0]


def test_late_sharing_joins_all_that_are_late_and_late_pending_what_is_due() -> None:
    queries = [Soft("late", "g", 1), Soft("later", "g", 2), Soft("due", "g", 3)]
    joined = {}
    for name in ("conservative", "conservative-late", "conservative-late-pending"):
        queue = begin(POLICIES[name], queries)
        first = queue.next(0)
        assert first is not None
        assert len(first.names) == 3
        joint = queue.done(first).next(3)
        assert joint is not None
        joined[name] = joint.names
    assert joined == {
        "conservative": ("late",),
        "conservative-late": ("late", "later"),
        "conservative-late-pending": ("late", "later", "due"),
    }


def test_priority_breaks_ties() -> None:
    queue = begin(POLICIES["none"], [Soft("a", "g", 2), Soft("b", "h", 2, priority=5)])
    joint = queue.next(0)
    assert joint is not None
    assert joint.names == ("b",)
