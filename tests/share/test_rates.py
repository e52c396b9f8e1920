"""Plans by range of input rates: when they change, what is remembered, what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.share.shared import context, query
from tidemill.language.names import Name
from tidemill.share import (
    Context,
    EngineCosts,
    SharedPlan,
    StreamPosition,
    change_plan,
    follow_rate,
    rebuild_plan,
)
from tidemill.share.growth import Around, groups_of
from tidemill.share.rates import RANGES

S = Name("s")
STARTED = StreamPosition(newest_us=30_000_000, watermark_us=30_000_000)
BEFORE = StreamPosition()
# At 2 rows a second four trees, at 100 one: see the thesis' cost of a tree, the rate.
WINDOWS = ((50, 7), (90, 11), (99, 13), (70, 10), (39, 3))
QUERIES = [query(n, "k", "", f"RANGE {r} s SLIDE {s} s") for n, (r, s) in enumerate(WINDOWS)]
GUESSED = 2.0


def around(plan: SharedPlan, position: StreamPosition = STARTED) -> Around:
    """By the rate of the plan, as the engine's planner has it."""
    chosen = context("weave")
    sample = replace(chosen.costs.sample, rows_per_second=plan.rate_of(S) or GUESSED)
    by_rate = Context(chosen.settings, EngineCosts(sample, chosen.costs.machine))
    return lambda _: (position, by_rate)


def begun() -> SharedPlan:
    return change_plan(SharedPlan(), QUERIES, around(SharedPlan(), BEFORE))


def follow(plan: SharedPlan, *rates: float) -> SharedPlan:
    for rate in rates:
        plan = follow_rate(plan, S, rate, around)
    return plan


def members(plan: SharedPlan) -> set[frozenset[str]]:
    return {frozenset(q.name for q in group.queries) for group in groups_of(plan, S)}


CALM = {frozenset(names) for names in (["q0"], ["q1"], ["q2", "q3"], ["q4"])}
BUSY = {frozenset(["q0", "q1", "q2", "q3", "q4"])}


def test_the_first_measured_rate_takes_the_place_of_the_guess() -> None:
    plan = begun()
    assert plan.rate_of(S) is None
    measured = follow(plan, 1.5)
    assert measured.rate_of(S) == 1.5
    assert (measured.version, measured.stints) == (plan.version, plan.stints)


def test_another_range_moves_the_plan_and_coming_back_restores_the_groups() -> None:
    calm = follow(begun(), 2.0)
    assert members(calm) == CALM
    busy = follow(calm, 100.0)
    assert members(busy) == BUSY
    assert busy.rate_of(S) == 100.0
    assert busy.version == calm.version + 1
    back = follow(busy, 1.0)
    assert members(back) == CALM
    assert back.rate_of(S) == 2.0


def test_coming_back_makes_no_plan_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = follow(begun(), 2.0, 100.0)
    monkeypatch.setattr("tidemill.share.growth.optimise", _nothing_new)
    back = follow(busy, 2.0)
    again = follow(back, 100.0)
    assert (members(back), members(again)) == (CALM, BUSY)
    assert again.rebuild_costs == busy.rebuild_costs != back.rebuild_costs


def _nothing_new(queries: Sequence[object], _context: Context) -> tuple[object, ...]:
    assert not queries
    return ()


def test_as_few_queries_move_as_can_be() -> None:
    calm = follow(begun(), 2.0)
    busy = follow(calm, 100.0)
    host = busy.stints["q2"][-1].synopsis_id
    assert host == calm.stints["q2"][-1].synopsis_id
    assert [len(busy.stints[q.name]) for q in QUERIES] == [2, 2, 1, 1, 2]
    back = follow(busy, 2.0)
    assert [len(back.stints[q.name]) for q in QUERIES] == [2, 2, 1, 1, 2]
    assert back.stints["q2"] == calm.stints["q2"]


@given(st.lists(st.floats(1 / 1.2, 1.2), max_size=20), st.sampled_from(RANGES.bounds[:3]))
def test_a_rate_that_wavers_about_a_bound_changes_nothing(
    wavering: list[float], bound: float
) -> None:
    plan = follow(begun(), bound * 1.1)
    assert all(follow_rate(plan, S, bound * factor, around) is plan for factor in wavering)


def test_who_came_meanwhile_is_placed_in_the_groups_of_before_and_who_left_is_not() -> None:
    busy = follow(begun(), 2.0, 100.0)
    newcomer = query(5, "k", "", "RANGE 70 s SLIDE 10 s")
    altered = query(0, "n", "", "RANGE 50 s SLIDE 7 s")
    changed = change_plan(busy, [*QUERIES[1:4], newcomer, altered], around(busy))
    back = follow(changed, 2.0)
    assert members(back) == {frozenset(names) for names in (["q1"], ["q2", "q3", "q5"], ["q0"])}


def test_what_is_made_anew_for_one_rate_is_forgotten_for_the_others() -> None:
    busy = follow(begun(), 2.0, 100.0)
    assert [other.band for other in busy.rates[S].others] == [0]
    rebuilt = rebuild_plan(busy, S, around(busy))
    assert rebuilt.rates[S].others == ()
    assert members(follow(rebuilt, 2.0)) == CALM


def test_a_stream_that_nobody_reads_any_more_has_no_rate() -> None:
    gone = change_plan(follow(begun(), 2.0), [], around(SharedPlan()))
    assert gone.rates == {}


@pytest.mark.parametrize("sharing", ["none", "shared", "triweave", "auto"])
def test_in_every_mode_the_plan_goes_by_the_measured_rate(sharing: str) -> None:
    def by_mode(plan: SharedPlan) -> Around:
        chosen = Context(context(sharing).settings, around(plan)(S)[1].costs)
        return lambda _: (STARTED, chosen)

    plan = change_plan(SharedPlan(), QUERIES, by_mode(SharedPlan()))
    rates: list[float | None] = []
    for rate in (3.0, 90_000.0, 3.0):
        plan = follow_rate(plan, S, rate, by_mode)
        rates.append(plan.rate_of(S))
    assert rates == [3.0, 90_000.0, 3.0]
    if sharing == "none":
        assert len(groups_of(plan, S)) == len(QUERIES)
