"""The steps of the optimiser one by one, and the greedy merging under two of them."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.share.shared import context, query
from tidemill.settings import SHARING_MODES
from tidemill.share.merging import merge_greedily
from tidemill.share.optimiser import Group, cost_of_arrangement, optimise

Part = frozenset[int]


@given(st.integers(1, 7), st.randoms(use_true_random=False))
def test_merging_never_costs_more_and_stops_where_no_pair_saves(count, rng) -> None:
    known: dict[Part, float] = {}

    def cost(part: Part) -> float:
        return known.setdefault(part, rng.uniform(0, len(part)))

    def merge(left: Part, right: Part) -> Part | None:
        return left | right if sum(left | right) % 5 else None

    parts = [frozenset([n]) for n in range(1, count + 1)]
    merged = merge_greedily(parts, cost, merge)
    assert sorted(n for part in merged for n in part) == list(range(1, count + 1))
    assert sum(map(cost, merged)) <= sum(map(cost, parts)) + 1e-9
    for left, right in combinations(merged, 2):
        both = merge(left, right)
        assert both is None or cost(left) + cost(right) - cost(both) <= 1e-9


@given(st.integers(1, 9), st.randoms(use_true_random=False))
def test_knowing_what_pairs_cost_at_least_changes_nothing_but_the_work(count, rng) -> None:
    heights: list[int] = [rng.randrange(5) for _ in range(count)]
    worked_out: list[Part] = []

    def cost(part: Part) -> float:
        worked_out.append(part)
        return 3 + max(heights[n] for n in part) * len(part)

    def least(left: Part, right: Part) -> float:
        return 3 + max(max(heights[n] for n in part) for part in (left, right))

    parts = [frozenset([n]) for n in range(count)]
    plain = merge_greedily(parts, cost, frozenset.union)
    all_worked_out = len(worked_out)
    worked_out.clear()
    assert merge_greedily(parts, cost, frozenset.union, least) == plain
    assert len(worked_out) <= all_worked_out


def members(groups: tuple[Group, ...]) -> set[frozenset[str]]:
    return {frozenset(one.name for one in group.queries) for group in groups}


QUERIES = [
    query(0, "k", "n = 1"),
    query(1, "k", "n = 1", "RANGE 90 s SLIDE 45 s"),
    query(2, "k", "n > 1"),
    query(3, "k", "price > 1"),
    query(4, "n", "n = 1"),
]


def test_without_sharing_everybody_is_alone() -> None:
    assert members(optimise(QUERIES, context("none"))) == {frozenset([q.name]) for q in QUERIES}


def test_slices_are_shared_by_equal_conditions_and_keys() -> None:
    groups = optimise(QUERIES, context(steps_off="predicates, routing, weave"))
    assert members(groups) == {
        frozenset(["q0", "q1"]),
        frozenset(["q2"]),
        frozenset(["q3"]),
        frozenset(["q4"]),
    }


def test_conditions_on_the_same_columns_share_signatures_and_others_by_cost() -> None:
    cheap = optimise(QUERIES, context(scan_ns=1e9, set_ns=1e9))
    assert members(cheap) == {frozenset(["q0", "q1", "q2", "q3"]), frozenset(["q4"])}
    dear = optimise(QUERIES, context(scan_ns=0.0, partial_ns=1e9))
    assert members(dear) == {
        frozenset(["q0", "q1", "q2"]),
        frozenset(["q3"]),
        frozenset(["q4"]),
    }


@pytest.mark.parametrize("sharing", SHARING_MODES)
def test_every_query_is_in_one_group_of_its_keys(sharing: str) -> None:
    groups = optimise(QUERIES, context(sharing))
    assert sorted(one.name for group in groups for one in group.queries) == [
        "q0",
        "q1",
        "q2",
        "q3",
        "q4",
    ]
    assert all(len({one.keys for one in group.queries}) == 1 for group in groups)


@pytest.mark.parametrize("sharing", ["auto", "shared", "weave", "triweave"])
def test_sharing_equal_windows_costs_less_than_not(sharing: str) -> None:
    twins = (query(0), query(1))
    together = cost_of_arrangement([Group(twins)], context(sharing))
    apart = cost_of_arrangement([Group((one,)) for one in twins], context(sharing))
    assert 0 < together < apart
