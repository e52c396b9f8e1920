"""Laws of windows and slices, against windows that were tried one by one.

The comparison with `reference.windows` can catch any slip of arithmetic near the chosen times;
it cannot catch a wrong idea of what a window is, which the goldens in `windows/` can.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidemill.reference.windows import closed_by, edges_of, windows_of
from tidemill.windows import (
    WindowSpec,
    closed_windows,
    edge_classes,
    edge_rate,
    edges_between,
    pane_origin,
    pane_us,
    slice_end,
    slice_start,
    slice_starts,
)

YEAR_9999_US = 253_402_300_799_999_999


@st.composite
def window_specs(draw):
    """Sliding, tumbling and hopping; the slide need not divide the range."""
    slide = draw(st.integers(1, 30))
    return WindowSpec(draw(st.integers(1, 60)), slide, draw(st.integers(1 - slide, slide - 1)))


many_specs = st.lists(window_specs(), min_size=1, max_size=5)
# The epoch, before 1970, and the end of the calendar.
origins = st.sampled_from([0, -1_000_003, -(10**15) - 1, YEAR_9999_US - 500])
instants = st.builds(lambda origin, step: origin + step, origins, st.integers(-200, 200))


def plain(spec):
    return spec.range_us, spec.slide_us, spec.start_us


@given(window_specs(), instants)
def test_the_overlap_is_the_most_windows_that_an_instant_is_in(spec, t_us):
    found = [len(windows_of(t, *plain(spec))) for t in range(t_us, t_us + spec.slide_us)]
    assert max(found) == spec.overlap


@given(many_specs, origins)
def test_edges_are_the_starts_and_ends_of_windows(specs, origin):
    found = edges_between(edge_classes(specs), origin, origin + 150).tolist()
    assert found == edges_of(map(plain, specs), origin, origin + 150)


@given(many_specs, st.lists(instants, min_size=1, max_size=60))
def test_slices_partition_time(specs, times):
    classes = edge_classes(specs)
    for t_us in times:
        begin, end = slice_start(t_us, classes), slice_end(t_us, classes)
        assert begin <= t_us < end
        assert edges_between(classes, begin, end + 1).tolist() == [begin, end]
        assert slice_end(begin - 1, classes) == begin
        assert slice_start(end, classes) == end
    array = np.array(times)
    assert slice_starts(array, classes).tolist() == [slice_start(t, classes) for t in times]


@given(many_specs, instants)
def test_every_window_is_a_run_of_whole_slices(specs, t_us):
    classes = edge_classes(specs)
    for spec in specs:
        for begin, end in windows_of(t_us, *plain(spec)):
            assert slice_start(begin, classes) == begin
            assert slice_start(end, classes) == end


@given(many_specs)
def test_every_edge_is_on_a_pane(specs):
    classes = edge_classes(specs)
    edges = edges_between(classes, -300, 300)
    assert not np.any((edges - pane_origin(classes)) % pane_us(classes))
    assert 0 <= pane_origin(classes) < pane_us(classes)


@given(many_specs, many_specs)
def test_the_edge_rate_grows_with_windows_but_never_beyond_the_sum(some, others):
    together = edge_rate(some + others)
    assert max(edge_rate(some), edge_rate(others)) <= together
    assert together <= edge_rate(some) + edge_rate(others)


@st.composite
def slices_with_rows(draw):
    """Windows, and slices cut for them and perhaps for others, of which only some hold rows."""
    specs, origin = draw(many_specs), draw(origins)
    times = draw(st.lists(st.integers(origin - 100, origin + 100), max_size=12))
    classes = edge_classes(specs)
    begins = np.array(sorted({slice_start(t, classes) for t in times}), dtype=np.int64)
    ends = np.array([slice_end(t, classes) for t in begins.tolist()], dtype=np.int64)
    return specs[0], begins, ends, origin


@given(slices_with_rows(), st.none() | st.integers(-150, 150), st.integers(-150, 250))
def test_closed_windows_are_those_found_by_trying(given_slices, after, until):
    spec, begins, ends, origin = given_slices
    after_us, until_us = None if after is None else origin + after, origin + until
    spans = list(zip(begins.tolist(), ends.tolist(), strict=True))
    found = closed_windows(spec, begins, ends, after_us, until_us).tolist()
    assert found == closed_by(plain(spec), spans, after_us, until_us)
