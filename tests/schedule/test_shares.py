"""Time between streams goes by weight, to whoever has work, and is not saved up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidemill.schedule.shares import Shares

weights = st.dictionaries(
    st.sampled_from("abcd"), st.sampled_from([0.5, 1.0, 2.0, 5.0]), min_size=1, max_size=4
)
seconds = st.lists(st.floats(0.01, 2.0), min_size=1, max_size=60)


@given(weights, seconds)
def test_streams_that_always_have_work_are_apart_by_one_run_each(found, runs):
    shares, used = Shares(), dict.fromkeys(found, 0.0)
    for took in runs:
        name = shares.next(found)
        assert name is not None
        used[name] += took
        shares = shares.after(name, took, found[name])
    served = {name: used[name] / weight for name, weight in found.items()}
    longest = {name: max(runs) / weight for name, weight in found.items()}
    for a in found:
        for b in found:
            assert served[a] - served[b] <= longest[a] + longest[b] + 1e-9


@given(weights, st.lists(st.tuples(st.sets(st.sampled_from("abcd")), st.floats(0.01, 2.0))))
def test_only_streams_with_work_are_served_and_clocks_never_run_back(found, turns):
    shares = Shares()
    for names, took in turns:
        waiting = {name: weight for name, weight in found.items() if name in names}
        name = shares.next(waiting)
        assert (name is None) == (not waiting)
        if name is not None:
            assert name in waiting
            after = shares.after(name, took, waiting[name])
            assert all(after.clock(one) >= shares.clock(one) for one in found)
            shares = after


def served(shares: Shares, turns: int, **waiting: float) -> tuple[str, Shares]:
    order = ""
    for _ in range(turns):
        name = shares.next(waiting)
        assert name is not None
        order, shares = order + name, shares.after(name, 1.0, waiting[name])
    return order, shares


def test_an_idle_stream_saves_up_no_credit():
    _, shares = served(Shares(), 2, a=1.0, b=1.0)
    _, shares = served(shares, 50, a=1.0)
    order, _ = served(shares, 6, a=1.0, b=1.0)
    assert order == "bababa"


def test_a_newcomer_begins_where_the_others_are():
    _, shares = served(Shares(), 50, a=1.0)
    assert served(shares, 6, a=1.0, new=1.0)[0] in ("newanewanewa", "anewanewanew")


def test_a_stream_that_is_gone_is_forgotten():
    _, shares = served(Shares(), 5, a=1.0)
    assert "a" not in shares.without("a").clocks
    assert shares.without("a").clock("a") == shares.now


def test_nobody_waiting_nobody_served():
    assert Shares().next({}) is None
