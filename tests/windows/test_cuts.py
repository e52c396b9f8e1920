"""Edges that change over time, against brute force: every window of every cut is tried.

time     …  newest        boundary
cut 1    |--|--|--|--|--|--|
cut 2                      |---|---|---|…     from an edge of cut 1 after all that was seen
"""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidemill.reference.windows import edges_of, windows_near
from tidemill.windows import BEGINNING_US, Cuts, WindowSpec

SPAN = 60


@st.composite
def specs(draw: st.DrawFn) -> WindowSpec:
    slide = draw(st.integers(1, 12))
    return WindowSpec(draw(st.integers(1, 15)), slide, draw(st.integers(1 - slide, slide - 1)))


windows = st.lists(specs(), min_size=1, max_size=3).map(tuple)
# Windows, and how far time has come since the change before.
changes = st.lists(st.tuples(windows, st.integers(0, 15)), max_size=4)


def cut_by(first: tuple[WindowSpec, ...], changed: list[tuple[tuple[WindowSpec, ...], int]]):
    """The cuts after each change, with the newest time at that change."""
    newest, cuts = 0, Cuts().recut(first, None)
    history = [(cuts, newest)]
    for given_windows, passed in changed:
        newest += passed
        cuts = cuts.recut(given_windows, newest)
        history.append((cuts, newest))
    return history


def brute_edges(cuts: Cuts, low: int, high: int) -> list[int]:
    """Where slices begin: the edges of each cut within it, and where each begins."""
    ends = [cut.from_us for cut in cuts.cuts[1:]] + [high]
    found: set[int] = set()
    for cut, end in zip(cuts.cuts, ends, strict=True):
        begin = max(low, cut.from_us)
        given_windows = [(w.range_us, w.slide_us, w.start_us) for w in cut.windows]
        found |= {edge for edge in edges_of(given_windows, low, high) if begin <= edge < end}
        found |= {begin} if cut.from_us >= low else set()
    return sorted(found)


@given(windows, changes)
def test_slices_are_those_of_brute_force(first, changed) -> None:
    (cuts, _) = cut_by(first, changed)[-1]
    edges = np.array(brute_edges(cuts, -40, SPAN + 40))
    times = np.arange(0, SPAN)
    begin = edges[np.searchsorted(edges, times, side="right") - 1]
    assert cuts.starts(times).tolist() == begin.tolist()


@given(windows, changes)
def test_a_change_leaves_what_was_seen_as_it_was(first, changed) -> None:
    history = cut_by(first, changed)
    for (before, _), (after, newest) in itertools.pairwise(history):
        seen = np.arange(-20, newest + 1)
        assert after.starts(seen).tolist() == before.starts(seen).tolist()
        boundary = before.boundary(newest)
        assert boundary > newest
        assert before.starts(np.array([boundary])).tolist() == [boundary]


@given(windows, changes)
def test_the_windows_asked_for_last_are_served_from_the_boundary_on(first, changed) -> None:
    history = cut_by(first, changed)
    for (before, _), (after, newest), (asked, _) in zip(
        history, history[1:], changed, strict=False
    ):
        for spec in asked:
            assert after.since(spec) <= before.boundary(newest)


@given(windows, changes, specs())
def test_since_promises_whole_slices_that_are_kept(first, changed, spec) -> None:
    (cuts, _) = cut_by(first, changed)[-1]
    since = cuts.since(spec)
    for begin, end in windows_near(0, SPAN, spec.range_us, spec.slide_us, spec.start_us):
        if begin < since:
            continue
        starts = np.unique(cuts.starts(np.arange(begin, end)))
        assert starts[0] == begin
        assert cuts.starts(np.array([end])).tolist() == [end]
        assert cuts.in_some_window(starts).all()


@given(windows, changes, st.integers(0, SPAN))
def test_what_is_let_go_concerns_no_later_row(first, changed, watermark) -> None:
    (cuts, _) = cut_by(first, changed)[-1]
    times = np.arange(watermark, SPAN + 20)
    kept = cuts.after(watermark)
    own = cuts.starts(times)
    assert kept.starts(times)[own >= watermark].tolist() == own[own >= watermark].tolist()
    assert all(cut in cuts.cuts for cut in kept.cuts)


def test_an_unused_change_is_replaced_and_an_equal_one_is_none() -> None:
    tens, fours, threes = (WindowSpec(n, n) for n in (10, 4, 3))
    cuts = Cuts().recut((tens,), None).recut((tens, fours), 13)
    assert [cut.from_us for cut in cuts.cuts] == [BEGINNING_US, 20]
    again = cuts.recut((tens, threes), 17)
    assert [cut.windows for cut in again.cuts] == [(tens,), (tens, threes)]
    assert cuts.recut((fours, tens), 25) == cuts
    assert Cuts().after(5) == Cuts()
