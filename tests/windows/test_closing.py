"""Which windows close."""

from __future__ import annotations

import numpy as np

from tidemill.windows import WindowSpec, closed_windows

YEAR_9999_US = 253_402_300_799_000_000
MINUTE_US = 60_000_000


def closed(spec, slices, after_us, until_us):
    begins, ends = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    return closed_windows(spec, begins, ends, after_us, until_us).tolist()


# time    0    5    10   15   20
# windows |-------)
#              |-------)
#                   |-------)
# slices  |--)           |-)        (rows in [0,3) and in [13,15))
SPEC = WindowSpec(range_us=8, slide_us=5)
TWO_SLICES = [(0, 3), (13, 15)]


def test_windows_come_from_slices_with_rows_only():
    assert closed(SPEC, TWO_SLICES, None, 100) == [-5, 0, 10]


def test_a_window_closes_when_the_watermark_reaches_its_end():
    assert closed(SPEC, TWO_SLICES, None, 7) == [-5]
    assert closed(SPEC, TWO_SLICES, None, 8) == [-5, 0]


def test_a_window_is_closed_once():
    assert closed(SPEC, TWO_SLICES, 3, 18) == [0, 10]
    assert closed(SPEC, TWO_SLICES, 8, 18) == [10]
    assert closed(SPEC, TWO_SLICES, 18, 18) == []


def test_a_slice_in_the_gap_of_a_hopping_window_closes_nothing():
    hopping = WindowSpec(range_us=2, slide_us=10)
    assert closed(hopping, [(2, 10)], None, 1000) == []
    assert closed(hopping, [(2, 10), (10, 12)], None, 1000) == [10]


def test_a_slice_that_straddles_a_window_belongs_to_the_others():
    # Cut by an older plan, [3, 7) lies inside [0, 8) and across the start of [5, 13).
    assert closed(SPEC, [(3, 7)], None, 100) == [0]


def test_overlapping_slices_of_two_plans_name_each_window_once():
    assert closed(WindowSpec(10, 1), [(1, 6), (3, 4), (4, 8)], None, 100) == list(range(-6, 5))


def test_one_row_in_the_year_9999_does_not_walk_through_the_millennia():
    spec = WindowSpec(2 * MINUTE_US, MINUTE_US)
    last = YEAR_9999_US // MINUTE_US * MINUTE_US
    slices = [(0, MINUTE_US), (last, last + MINUTE_US)]
    assert closed(spec, slices, None, 2**70) == [-MINUTE_US, 0, last - MINUTE_US, last]


def test_no_slices_no_windows():
    assert closed(SPEC, [], None, 100) == []
