"""What is promised of every policy, in simulations without a clock.

Everything is deduced from what ran at which update; the deadlines inside are not looked at, but
for one test that follows them by subtraction. Costs are made up: they decide which tasks there
are, not what is promised of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidemill.schedule.deadlines import Deadlines, Joint
from tidemill.schedule.policies import POLICIES, Policy, policy_tasks
from tidemill.schedule.soft import Soft, Task

each_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
few = settings(max_examples=30)  # of each of the nine policies
asked = st.tuples(st.sampled_from("abc"), st.integers(1, 12), st.sampled_from([0, 0, 5]))


def named(found: Sequence[tuple[str, int, int]]) -> list[Soft]:
    return [Soft(f"q{number}", *one) for number, one in enumerate(found)]


many = st.lists(asked, min_size=1, max_size=16).map(named)


def begin(policy: Policy, queries: Sequence[Soft], update: int = 0, **ran: int) -> Deadlines:
    tasks = policy_tasks(policy, queries, lambda some: 3 + len(some))
    return Deadlines.starting(tasks, policy.joining, update, ran)


def run(queue: Deadlines, updates: Sequence[int], capacity: int, ahead: int = 0) -> list[Joint]:
    """So many joint runs at each of the updates."""
    ran = []
    for update in updates:
        for _ in range(capacity):
            if (joint := queue.next(update, ahead)) is None:
                break
            ran.append(joint)
            queue.record_run(joint)
    return ran


def seen_by(query: Soft, ran: Sequence[Joint]) -> list[int]:
    return [joint.update for joint in ran if query.name in joint.names]


@each_policy
@few
@given(queries=many, at_once=st.integers(1, 5))
def test_with_enough_capacity_no_query_waits_longer_than_it_allows(policy, queries, at_once):
    """Also when updates come several at a time, unless a query allows fewer than come."""
    updates = range(0, 60, at_once)
    ran = run(begin(policy, queries), updates, capacity=100, ahead=at_once - 1)
    for query in queries:
        seen = seen_by(query, ran)
        assert seen[0] == 0
        gaps = [b - a for a, b in pairwise([*seen, updates[-1]])]
        assert max(gaps) <= max(query.period, at_once)


@each_policy
@few
@given(queries=many, at_once=st.integers(1, 4), capacity=st.integers(1, 9))
def test_nothing_runs_twice_at_one_update(policy, queries, at_once, capacity):
    ran = run(begin(policy, queries), range(0, 40, at_once), capacity, at_once - 1)
    for query in queries:
        seen = seen_by(query, ran)
        assert len(set(seen)) == len(seen)


@each_policy
@few
@given(queries=many, ahead=st.integers(0, 3), capacity=st.integers(1, 3))
def test_the_earliest_deadline_goes_first_with_others_of_its_group(
    policy, queries, ahead, capacity
):
    queue = begin(policy, queries)
    for update in range(0, 30, ahead + 1):
        done: list[Task] = []
        for _ in range(capacity):
            waiting = [t for t in queue.tasks if t not in done and queue.left(t, update) <= ahead]
            joint = queue.next(update, ahead)
            assert (joint is None) == (not waiting)
            if joint is None:
                break
            lefts = [queue.left(task, update) for task in waiting]
            assert queue.left(joint.tasks[0], update) == min(lefts)
            assert len({task.group for task in joint.tasks}) == 1
            assert set(joint.tasks) <= set(waiting)
            assert queue.next(update, ahead) == joint  # asking changes nothing
            queue.record_run(joint)
            done += joint.tasks
            assert all(queue.left(task, update) == task.period for task in joint.tasks)


@each_policy
@few
@given(queries=st.lists(asked, min_size=8, max_size=30).map(named))
def test_nobody_starves_under_overload(policy, queries):
    queue = begin(policy, queries)
    ran = run(queue, range(200), capacity=1)
    for query in queries:
        waits = [b - a for a, b in pairwise([0, *seen_by(query, ran), 200])]
        # Whoever is late has only to wait for those that were due before it, each once.
        assert max(waits) <= query.period + len(queue.tasks)


@each_policy
def test_the_overload_above_is_one(policy):
    queries = [Soft(f"q{n}", "abc"[n % 3], 1 + n % 12) for n in range(30)]
    ran = run(begin(policy, queries), range(200), capacity=1)
    late = [q for q in queries if max(b - a for a, b in pairwise(seen_by(q, ran))) > q.period]
    assert late


@each_policy
@few
@given(queries=many, data=st.data())
def test_decisions_do_not_depend_on_the_order_of_queries(policy, queries, data):
    other = data.draw(st.permutations(queries))
    assert run(begin(policy, queries), range(40), 1) == run(begin(policy, other), range(40), 1)


@each_policy
@few
@given(queries=many, ran=st.dictionaries(st.integers(0, 15), st.integers(0, 20)))
def test_a_new_start_keeps_the_deadlines_of_whoever_ran(policy, queries, ran):
    last = {f"q{number}": update for number, update in ran.items()}
    queue = begin(policy, queries, 20, **last)
    for task in queue.tasks:
        dues = [last.get(m.name, 20 - task.period) + task.period for m in task.members]
        assert queue.left(task, 20) == min(dues) - 20
    for joint in run(queue, [20], capacity=100):
        for task in joint.tasks:
            assert any(last.get(member.name, 0) < 20 for member in task.members)
    assert run(queue, [20], capacity=100) == []


def joined_at(policy: str, queries: Sequence[Soft], update: int, ran: Mapping[str, int]):
    joint = begin(POLICIES[policy], queries, update, **ran).next(update)
    assert joint is not None
    return joint.names


def test_late_sharing_joins_all_that_are_late_and_late_pending_what_is_due():
    queries = [Soft("late", "g", 1), Soft("later", "g", 2), Soft("due", "g", 3)]
    queries += [Soft("early", "g", 4), Soft("elsewhere", "h", 2)]
    ran = dict.fromkeys([query.name for query in queries], 0)
    policies = ("conservative", "conservative-late", "conservative-late-pending")
    assert {policy: joined_at(policy, queries, 3, ran) for policy in policies} == {
        "conservative": ("late",),
        "conservative-late": ("late", "later"),
        "conservative-late-pending": ("late", "later", "due"),
    }


def test_what_is_due_before_the_next_chance_is_due_together():
    queries = [Soft(f"every {n}", "g", n) for n in (4, 5, 6, 7)]
    queue = begin(POLICIES["conservative"], queries)
    ran = run(queue, [0, 3, 6], capacity=9, ahead=2)
    assert [(joint.update, joint.names) for joint in ran] == [
        (0, ("every 4", "every 5", "every 6", "every 7")),
        (3, ("every 4", "every 5")),
        (6, ("every 6", "every 4", "every 7", "every 5")),
    ]


def test_a_period_shorter_than_what_comes_at_once_runs_at_every_chance():
    ran = run(begin(POLICIES["none"], [Soft("a", "g", 2)]), [0, 5, 10], capacity=9, ahead=4)
    assert [joint.update for joint in ran] == [0, 5, 10]


def test_a_newcomer_does_not_wait_for_those_of_its_task_that_have_seen_the_update():
    queries = [Soft("old", "g", 3), Soft("new", "g", 3)]
    queue = begin(POLICIES["conservative"], queries, 7, old=7)
    joint = queue.next(7)
    assert joint is not None
    assert joint.names == ("new", "old")
    queue.record_run(joint)
    assert queue.next(9) is None


def test_priority_breaks_ties():
    queue = begin(POLICIES["none"], [Soft("a", "g", 2), Soft("b", "h", 2, priority=5)])
    joint = queue.next(0)
    assert joint is not None
    assert joint.names == ("b",)
