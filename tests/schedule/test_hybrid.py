"""The worked example of the thesis, and what is promised of partitions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from tidemill.schedule.hybrid import _greedy, freely_shortened, hybrid_blocks
from tidemill.schedule.policies import POLICIES, policy_tasks
from tidemill.schedule.rates import cost_of_update
from tidemill.schedule.soft import Soft, Task, merge_tasks, subgroups

# Seven MAX queries, window and slide in minutes; an update of the synopsis every minute.
WINDOWS = {"q1": (10, 2), "q2": (5, 2), "q3": (6, 2), "q4": (15, 3), "q5": (12, 3), "q6": (20, 5)}
WINDOWS["q7"] = (30, 5)
SEVEN = tuple(Soft(name, "g1", slide) for name, (_, slide) in WINDOWS.items())


def merges(queries: Sequence[Soft]) -> float:
    """One pass over the longest window serves all of them."""
    return max(WINDOWS[query.name][0] - 1 for query in queries)


@pytest.mark.parametrize(
    ("policy", "cost", "periods"),
    [
        ("conservative", 11.93, [2, 3, 5]),
        ("hybrid", 11.4, [2, 5]),
        ("aggressive", 14.5, [2]),
        ("free", 10.75, [2, 4]),
    ],
)
def test_the_worked_example(policy: str, cost: float, periods: list[int]) -> None:
    tasks = policy_tasks(POLICIES[policy], SEVEN, merges)
    assert [task.period for task in tasks] == periods
    assert cost_of_update(tasks, merges) == pytest.approx(cost, abs=0.005)


def test_the_partitions_that_hybrid_did_not_choose() -> None:
    first, second, third = subgroups(SEVEN)
    assert cost_of_update([first, merge_tasks([second, third])], merges) == pytest.approx(
        12.67, abs=0.005
    )
    assert cost_of_update([merge_tasks([first, third]), second], merges) == pytest.approx(
        16.83, abs=0.005
    )
    assert cost_of_update([first, second], merges) == pytest.approx(7.67, abs=0.005)
    assert cost_of_update([merge_tasks([first, second])], merges) == 7


def random_group(rng: random.Random, most: int) -> tuple[tuple[Task, ...], dict[str, int]]:
    periods = rng.sample(range(1, 13), rng.randint(1, most))
    queries = [Soft(f"q{period}", "g", period) for period in periods]
    return subgroups(queries), {query.name: rng.randint(1, 60) for query in queries}


def all_partitions(tasks: Sequence[Task]) -> Iterator[list[list[Task]]]:
    if not tasks:
        yield []
        return
    for rest in all_partitions(tasks[1:]):
        yield [[tasks[0]], *rest]
        for place in range(len(rest)):
            yield [*rest[:place], [tasks[0], *rest[place]], *rest[place + 1 :]]


def test_blocks_of_neighbours_are_as_cheap_as_any_partition() -> None:
    rng = random.Random(4)
    merged_some = 0
    for _ in range(60):
        tasks, costs = random_group(rng, 5)
        longest = lambda queries, costs=costs: max(costs[q.name] for q in queries)  # noqa: E731
        found = hybrid_blocks(tasks, longest)
        every = [tuple(map(merge_tasks, parts)) for parts in all_partitions(tasks)]
        assert cost_of_update(found, longest) == pytest.approx(
            min(cost_of_update(one, longest) for one in every)
        )
        merged_some += len(found) < len(tasks)
    assert merged_some > 10


def test_greedy_and_free_shortening_never_cost_more_than_what_they_begin_with() -> None:
    rng = random.Random(5)
    shortened = 0
    for _ in range(30):
        tasks, costs = random_group(rng, 8)
        longest = lambda queries, costs=costs: max(costs[q.name] for q in queries)  # noqa: E731
        greedy = _greedy(tasks, longest)
        assert cost_of_update(greedy, longest) <= cost_of_update(tasks, longest) * (1 + 1e-12)
        best = hybrid_blocks(tasks, longest)
        free = freely_shortened(best, longest)
        assert cost_of_update(free, longest) <= cost_of_update(best, longest)
        shortened += free != best
        assert all(a.period <= min(m.period for m in a.members) for a in free)
    assert shortened > 0


def test_what_a_set_costs_is_asked_once() -> None:
    asked: list[frozenset[str]] = []

    def longest(queries: Sequence[Soft]) -> float:
        asked.append(frozenset(query.name for query in queries))
        return max(query.period for query in queries)

    hybrid_blocks(subgroups([Soft(f"q{period}", "g", period) for period in range(3, 33)]), longest)
    assert len(asked) == len(set(asked)) > 100


def test_every_query_is_in_one_task_under_every_policy() -> None:
    for policy in POLICIES.values():
        tasks = policy_tasks(policy, (*SEVEN, Soft("other", "g2", 4)), merges_or_one)
        members = [member.name for task in tasks for member in task.members]
        assert sorted(members) == sorted([*WINDOWS, "other"])
        assert all(task.period <= m.period for task in tasks for m in task.members)
        assert [a.group for a, b in pairwise(tasks)] == sorted(a.group for a, b in pairwise(tasks))


def merges_or_one(queries: Sequence[Soft]) -> float:
    return merges(queries) if queries[0].group == "g1" else 1
