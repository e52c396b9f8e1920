"""Windows that are due, for many specs at once, against trying every window near the rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidemill.reference.windows import closed_by, windows_near
from tidemill.schedule import Due, Specs, WindowRun, due_windows, oldest_needed
from tidemill.windows import WindowSpec, edge_classes, slice_end, slice_starts


@st.composite
def window_specs(draw: st.DrawFn) -> WindowSpec:
    slide = draw(st.integers(1, 40))
    return WindowSpec(draw(st.integers(1, 60)), slide, draw(st.integers(1 - slide, slide - 1)))


def starts_of(runs: list[WindowRun], spec: WindowSpec) -> list[int]:
    return [run.first_us + k * spec.slide_us for run in runs for k in range(run.windows)]


@given(
    st.lists(window_specs(), min_size=1, max_size=5),
    st.lists(st.integers(-300, 300) | st.integers(10**9, 10**9 + 50), max_size=12),
    st.none() | st.integers(-350, 350),
    st.integers(0, 400) | st.just(2**62),
)
def test_many_specs_at_once_are_each_as_found_by_trying(
    specs: list[WindowSpec], times: list[int], after: int | None, span: int
) -> None:
    classes = edge_classes(specs)
    slices = np.unique(slice_starts(np.array(times, dtype=np.int64), classes))
    until = span if after is None else after + span
    found = due_windows(Specs.of(specs), slices, after, until)
    spans = [(begin, slice_end(begin, classes)) for begin in slices.tolist()]
    for spec, runs in zip(specs, found, strict=True):
        tried = closed_by((spec.range_us, spec.slide_us, spec.start_us), spans, after, until)
        assert starts_of(runs, spec) == tried
        assert all(run.windows > 0 for run in runs)


def test_consecutive_windows_are_one_run_and_a_gap_of_years_costs_nothing() -> None:
    slices = np.array([0, 5, 10, 8 * 10**15])
    ((near, far),) = due_windows(Specs.of([WindowSpec(10, 5)]), slices, None, 2**62)
    assert near == WindowRun(-5, 4)
    assert far == WindowRun(8 * 10**15 - 5, 2)


def test_nothing_held_nothing_due() -> None:
    assert due_windows(Specs.of([WindowSpec(10, 5)]), np.zeros(0, np.int64), None, 99) == [[]]


def test_the_end_of_a_run() -> None:
    assert Due(("q",), "s1", range_us=8, slide_us=5, first_us=10, windows=3).last_end_us == 28


@given(st.lists(window_specs(), min_size=1, max_size=5), st.integers(-500, 500))
def test_the_oldest_slice_needed_is_that_of_the_neediest(
    specs: list[WindowSpec], watermark: int
) -> None:
    open_starts = [
        begin
        for spec in specs
        for begin, end in windows_near(
            watermark, watermark + 100, spec.range_us, spec.slide_us, spec.start_us
        )
        if end > watermark
    ]
    assert oldest_needed(Specs.of(specs), watermark) == min(open_starts)


def test_the_oldest_slice_needed_is_where_the_earliest_open_window_starts() -> None:
    sliding, hopping = Specs.of([WindowSpec(8, 5)]), Specs.of([WindowSpec(2, 10)])
    assert [oldest_needed(sliding, t) for t in (7, 8, 12, 13)] == [0, 5, 5, 10]
    assert oldest_needed(hopping, 5) == 10
    assert oldest_needed(sliding, -100) == -105
