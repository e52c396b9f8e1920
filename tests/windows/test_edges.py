"""Windows and the edges of known ones, by hand; the general statements are in the laws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tidemill.windows import (
    EdgeClass,
    WindowSpec,
    edge_classes,
    edge_rate,
    edges_between,
    pane_origin,
    pane_us,
    slice_end,
    slice_start,
    slice_starts,
)

SECOND = 1_000_000
# The worked examples of the sharing literature, in units of one.
PAIRED = [WindowSpec(12, 9), WindowSpec(10, 6)]
PROBED = [WindowSpec(7, 5), WindowSpec(3, 3)]
INTERCEDED = [WindowSpec(8, 5), WindowSpec(5, 4)]
US_PER_SECOND = 1_000_000
YEAR_9999_US = 253_402_300_799_999_999


@pytest.mark.parametrize(
    ("range_us", "slide_us", "start_us", "words"),
    [
        (0, 5, 0, "range_us is 0"),
        (-1, 5, 0, "range_us is -1"),
        (5, 0, 0, "slide_us is 0"),
        (5, -5, 0, "slide_us is -5"),
        (2**60 + 1, 5, 0, "range_us"),
        (5, 5, 5, "below the slide, 5"),
        (5, 5, -5, "start_us is -5"),
    ],
)
def test_a_span_without_meaning_is_refused(range_us, slide_us, start_us, words):
    with pytest.raises(ValueError, match=words):
        WindowSpec(range_us, slide_us, start_us)


def test_overlap_of_an_hour_each_ten_minutes_is_six():
    assert WindowSpec(3600 * SECOND, 600 * SECOND).overlap == 6


@pytest.mark.parametrize(("range_us", "overlap"), [(8, 2), (10, 2), (11, 3), (5, 1), (2, 1)])
def test_overlap_rounds_up(range_us, overlap):
    assert WindowSpec(range_us, 5).overlap == overlap


def test_the_next_window_begins_after_the_instant():
    #  0    5    10   15
    #  |-------)            k=0
    #       |-------)       k=1
    #            |-------)  k=2
    spec = WindowSpec(range_us=8, slide_us=5)
    assert [spec.first_start_after(t) for t in (-6, -5, 4, 5, 9)] == [-5, 0, 5, 10, 10]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (WindowSpec(60 * SECOND, 10 * SECOND), "RANGE 60 s SLIDE 10 s"),
        (WindowSpec(1_500_000, 20, -10), "RANGE 1.5 s SLIDE 0.00002 s START -0.00001 s"),
    ],
)
def test_it_reads_like_the_language(spec, text):
    assert str(spec) == text


def edges(specs, last):
    """The edges in (0, last]."""
    return edges_between(edge_classes(specs), 1, last + 1).tolist()


def rate(specs):
    """Edges per unit."""
    return edge_rate(specs) / US_PER_SECOND


def test_paired_windows_merge_to_eight_edges_in_eighteen():
    assert edges(PAIRED[:1], 18) == [3, 9, 12, 18]
    assert edges(PAIRED[1:], 18) == [4, 6, 10, 12, 16, 18]
    assert edges(PAIRED, 18) == [3, 4, 6, 9, 10, 12, 16, 18]
    assert [rate(PAIRED[:1]), rate(PAIRED[1:]), rate(PAIRED)] == [
        Fraction(2, 9),
        Fraction(1, 3),
        Fraction(4, 9),
    ]


def test_a_composite_slide_of_fifteen_has_nine_edges_and_two_are_common():
    x, y = edges(PROBED[:1], 15), edges(PROBED[1:], 15)
    assert (len(x), len(y), len(edges(PROBED, 15))) == (6, 5, 9)
    assert sorted(set(x) & set(y)) == [12, 15]
    assert rate(PROBED) == Fraction(9, 15)


def test_interceded_windows_have_fourteen_edges_in_twenty():
    assert edges(INTERCEDED, 13) == [1, 3, 4, 5, 8, 9, 10, 12, 13]
    assert len(edges(INTERCEDED, 20)) == 14
    assert rate(INTERCEDED) == Fraction(7, 10)


def test_a_class_inside_another_is_dropped():
    specs = [WindowSpec(4, 2), WindowSpec(12, 4), WindowSpec(7, 6, 1)]
    assert edge_classes(specs) == (EdgeClass(0, 2), EdgeClass(1, 6))


def test_the_order_of_windows_does_not_matter():
    assert edge_classes(PAIRED + INTERCEDED) == edge_classes(INTERCEDED[::-1] + PAIRED[::-1])


def test_equal_classes_are_equal_values():
    assert EdgeClass(-1, 4) == EdgeClass(3, 4) == EdgeClass(7, 4)
    with pytest.raises(ValueError, match="positive"):
        EdgeClass(0, 0)


@pytest.mark.parametrize("t_us", [-(10**15) - 7, -1, 0, 1, YEAR_9999_US])
def test_slices_hold_far_from_the_epoch(t_us):
    classes = edge_classes([WindowSpec(90_000_000, 7_000_000, 13), WindowSpec(61_000, 9_000)])
    begin, end = slice_start(t_us, classes), slice_end(t_us, classes)
    assert begin <= t_us < end
    near = edges_between(classes, begin, end + 1)
    assert near.tolist() == [begin, end]
    times = np.array([t_us])
    assert slice_starts(times, classes).tolist() == [begin]


def test_many_instants_near_each_other_are_looked_up_alike():
    # 5,000 instants in 100 slices: listing the edges is cheaper than dividing by each period.
    classes = edge_classes([WindowSpec(31, 7), WindowSpec(40, 11, 3), WindowSpec(5, 13)])
    times = np.arange(-2_500, 2_500) // 10
    assert slice_starts(times, classes).tolist() == [slice_start(int(t), classes) for t in times]


def test_a_row_in_the_year_9999_beside_one_today_is_cut_at_once():
    classes = edge_classes([WindowSpec(5, 2), WindowSpec(7, 3)])
    times = np.array([5, YEAR_9999_US] * 10)
    assert slice_starts(times, classes)[:2].tolist() == [
        slice_start(5, classes),
        slice_start(YEAR_9999_US, classes),
    ]


def test_no_windows_have_no_slices():
    assert edge_rate([]) == 0
    assert edges_between((), 0, 10).size == 0
    for cut in (
        lambda: slice_start(0, ()),
        lambda: slice_starts(np.array([1]), ()),
        lambda: pane_us(()),
    ):
        with pytest.raises(ValueError, match="no edges"):
            cut()


def test_no_instants_have_no_slices():
    none = np.empty(0, np.int64)
    assert slice_starts(none, (EdgeClass(0, 5),)).size == 0


def test_an_estimated_rate_is_near_the_true_one():
    # Periods that are large primes: the composite slide has some 10^30 edges.
    slides = [1_000_003, 1_000_033, 1_000_037, 1_000_039, 1_000_081]
    true_rate = 1 - np.prod([1 - 1 / slide for slide in slides])
    assert float(rate([WindowSpec(s, s) for s in slides])) == pytest.approx(true_rate, rel=1e-3)


def test_the_rate_of_slides_of_millennia_still_fits_64_bits():
    slides = [2**59, 2**59 - 1]
    assert float(rate([WindowSpec(s, s) for s in slides])) == pytest.approx(2**-58, rel=0.3)


@pytest.mark.parametrize(
    ("specs", "pane", "origin"),
    [
        ([WindowSpec(12, 9), WindowSpec(10, 6)], 1, 0),
        ([WindowSpec(12, 8)], 4, 0),
        ([WindowSpec(12, 8, 3)], 4, 3),
        ([WindowSpec(12, 6, 5), WindowSpec(9, 9, 2)], 3, 2),
    ],
)
def test_panes(specs, pane, origin):
    classes = edge_classes(specs)
    assert (pane_us(classes), pane_origin(classes)) == (pane, origin)
