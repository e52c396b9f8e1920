"""The first query that another shares with, found without comparing all with all."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest

from tests.share.plans import query
from tidemill.plan.query import QueryPlan
from tidemill.share.companions import Companions
from tidemill.share.rules import DOING, Rule

WHATS = ("SUM(length) AS v", "AVG(length) AS v", "COUNT(*) AS v")
WINDOWS = (
    "RANGE 60 SECONDS SLIDE 10 SECONDS",
    "RANGE 60 SECONDS SLIDE 20 SECONDS",
    "RANGE 60 SECONDS SLIDE 20 SECONDS START 5 SECONDS",
    "RANGE 30 SECONDS, 60 SECONDS SLIDE 20 SECONDS",
    "RANGE 30 SECONDS SLIDE 20 SECONDS",
)
WHERES = ("", "WHERE port = 80", "WHERE port IN (80, 443)", "WHERE length > 9")
KEYS = ("src", "dst")
KINDS = [
    query(f"SELECT {key}, {what} FROM packets [{window}] {where} GROUP BY {key}")
    for what, window, where, key in product(WHATS, WINDOWS, WHERES, KEYS)
]


def named(queries: Sequence[QueryPlan]) -> list[QueryPlan]:
    return [replace(each, name=f"q{number}") for number, each in enumerate(queries)]


@pytest.mark.parametrize("rule", DOING, ids=lambda rule: rule.name)
@pytest.mark.parametrize("count", [2, 12, 90])
def test_it_is_the_first_of_a_search_through_all(rule: Rule[QueryPlan], count: int) -> None:
    queries = named(random.Random(count).choices(KINDS, k=count))
    companions = Companions(rule, queries)
    firsts = [companions.first(each) for each in queries]
    assert firsts == [
        next((o for o in queries if o.name != each.name and rule.applies(each, o)), None)
        for each in queries
    ]
    assert count < 90 or sum(first is not None for first in firsts) > 5


@pytest.mark.parametrize("rule", DOING, ids=lambda rule: rule.name)
def test_queries_that_look_alike_cost_no_comparisons(rule: Rule[QueryPlan]) -> None:
    def compared(queries: Sequence[QueryPlan]) -> int:
        pairs = []

        def applies(left: QueryPlan, right: QueryPlan) -> bool:
            pairs.append((left.name, right.name))
            return rule.applies(left, right)

        companions = Companions(replace(rule, applies=applies), queries)
        for each in queries:
            companions.first(each)
        return len(pairs)

    once = compared(named(KINDS))
    assert once
    assert compared(named(KINDS * 5)) == once
