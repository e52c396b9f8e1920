"""The next window with rows, for many specs at once, against trying every window near the rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.schedule.test_due import window_specs
from tidemill.reference.windows import windows_near
from tidemill.schedule import NextWindow, Specs, first_open, next_instant, next_windows
from tidemill.windows import WindowSpec, edge_classes, slice_starts


def tried(spec: WindowSpec, rows: list[int], closed_us: int) -> NextWindow | None:
    """The first open window that holds a row, and the first row of it."""
    triple = spec.range_us, spec.slide_us, spec.start_us
    found = [
        (end, row)
        for row in rows
        for begin, end in windows_near(row, row, *triple)
        if begin <= row < end and end > closed_us
    ]
    return NextWindow(*min(found)) if found else None


@given(
    st.lists(window_specs(), min_size=1, max_size=5),
    st.lists(st.integers(-300, 300) | st.integers(10**9, 10**9 + 50), max_size=12),
    st.just(-(2**62)) | st.integers(-350, 350),
)
def test_many_specs_at_once_are_each_as_found_by_trying(
    specs: list[WindowSpec], times: list[int], closed_us: int
) -> None:
    slices = np.unique(slice_starts(np.array(times, dtype=np.int64), edge_classes(specs)))
    several = Specs.of(specs)
    first = first_open(several, np.full(len(specs), closed_us))
    found = next_windows(several, first, slices)
    assert found == [tried(spec, slices.tolist(), closed_us) for spec in specs]


def test_windows_before_the_first_that_is_asked_for_do_not_count() -> None:
    specs = Specs.of([WindowSpec(10, 5)])
    assert next_windows(specs, np.array([3]), np.array([12, 40])) == [NextWindow(45, 40)]
    assert next_windows(specs, np.array([9]), np.array([12, 40])) == [None]


@given(st.integers(1, 40), st.integers(-39, 39), st.integers(-200, 200))
def test_the_next_instant_is_the_first_after(every: int, start: int, after: int) -> None:
    instant = next_instant(every, start, after)
    assert (instant - start) % every == 0
    assert instant - every <= after < instant
