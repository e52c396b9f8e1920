"""Plans that change while they run: who stays where, who begins when.

newest  30 s        first window of a newcomer: 60 s, or an open one if slices serve it
"""

from __future__ import annotations

from dataclasses import replace

from tests.share.shared import around, context, query
from tidemill.language.names import Name
from tidemill.share import SharedPlan, StreamPosition, change_plan, rebuild_plan, retire_stints
from tidemill.share.synopses import first_window
from tidemill.windows import BEGINNING_US, WindowSpec

SECOND = 1_000_000
S = Name("s")
STARTED = StreamPosition(newest_us=30 * SECOND, watermark_us=30 * SECOND, complete_from={"s1": 0})


def begun(*queries) -> SharedPlan:
    return change_plan(SharedPlan(), queries, around())


def test_nothing_changed_is_the_same_plan() -> None:
    plan = begun(query(0))
    assert change_plan(plan, [query(0)], around(STARTED)) is plan


def test_who_stays_is_not_touched_by_who_comes_and_goes() -> None:
    plan = begun(query(0, where="n = 1"), query(1, where="n = 2"))
    changed = change_plan(plan, [query(0, where="n = 1"), query(2, where="n = 3")], around(STARTED))
    assert changed.stints["q0"] == plan.stints["q0"]
    assert changed.stints.keys() == {"q0", "q2"}
    assert changed.version == plan.version + 1


def test_a_newcomer_begins_at_once_where_slices_serve_it() -> None:
    plan = begun(query(0), query(1, window="RANGE 10 s SLIDE 10 s"))
    twin = query(2, window="RANGE 20 s SLIDE 10 s")
    changed = change_plan(plan, [*plan.queries, twin], around(STARTED))
    (stint,) = changed.stints["q2"]
    assert stint.from_us <= 0
    assert (
        first_window(WindowSpec(20 * SECOND, 10 * SECOND), stint.from_us, 30 * SECOND)
        == 20 * SECOND
    )


def test_a_newcomer_with_other_edges_or_bits_waits() -> None:
    plan = begun(query(0))
    for other in (query(1, window="RANGE 7 s SLIDE 7 s"), query(1, where="n = 1")):
        (stint,) = change_plan(plan, [*plan.queries, other], around(STARTED)).stints["q1"]
        assert stint.from_us > 30 * SECOND


def test_a_moved_query_ends_in_one_synopsis_where_it_begins_in_the_next() -> None:
    plan = rebuild_plan(begun(query(0)), S, around(STARTED))
    old, new = plan.stints["q0"]
    assert old.synopsis_id != new.synopsis_id
    assert (old.from_us, old.until_us) == (BEGINNING_US, new.from_us)
    assert new.from_us == 30 * SECOND + 1
    assert len(plan.synopses) == 2


def test_moving_does_not_begin_earlier_than_was_announced() -> None:
    """The newcomer was told 60 s; a synopsis made a second later would have it from 32 s on."""
    plan = begun(query(0))
    later = replace(STARTED, newest_us=31 * SECOND)
    added = change_plan(plan, [query(0), query(1, window="RANGE 7 s SLIDE 7 s")], around(STARTED))
    announced = added.stints["q1"][0].from_us
    moved = rebuild_plan(added, S, around(later))
    assert announced == 60 * SECOND
    assert moved.stints["q1"][0].from_us == announced


def test_moving_twice_before_a_row_leaves_no_empty_stint() -> None:
    plan = begun(query(0))
    for _ in range(3):
        plan = rebuild_plan(plan, S, around(STARTED))
    assert len(plan.stints["q0"]) == 2
    assert len(plan.synopses) == 2


def test_a_stint_is_retired_when_its_last_window_has_closed() -> None:
    """Its last window starts at 0 and closes at 60 s."""
    plan = rebuild_plan(begun(query(0)), S, around(STARTED))
    assert retire_stints(plan, S, lambda _: 60 * SECOND - 1) is plan
    assert retire_stints(plan, Name("elsewhere"), lambda _: 60 * SECOND) is plan
    retired = retire_stints(plan, S, lambda _: 60 * SECOND)
    assert retired.stints["q0"] == plan.stints["q0"][1:]
    assert retired.synopses == plan.synopses[1:]


def test_a_plan_that_costs_too_much_is_made_anew() -> None:
    """A query comes for every one that goes, each to its own place, until that is too dear."""
    chosen = context("shared", scan_ns=1e9, set_ns=1e9)
    alone = context("none")
    plan = change_plan(SharedPlan(), [query(n) for n in range(2)], around(chosen=alone))
    assert len(plan.synopses) == 2
    grown = change_plan(plan, [query(n) for n in range(3)], around(STARTED, chosen))
    points = grown.rebuild_costs[S]
    assert points[:1] == plan.rebuild_costs[S]
    assert [queries for queries, _ in points] == [2, 3]
    assert {stints[-1].synopsis_id for stints in grown.stints.values()} == {"s1"}
