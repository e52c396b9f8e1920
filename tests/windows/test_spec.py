"""One window specification: what it means, and what it refuses to mean."""

from __future__ import annotations

import pytest

from tidemill.windows import WindowSpec

SECOND = 1_000_000


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


def test_windows_of_an_instant():
    #  0    5    10   15
    #  |-------)            k=0
    #       |-------)       k=1
    #            |-------)  k=2
    spec = WindowSpec(range_us=8, slide_us=5)
    assert list(spec.windows_containing(7)) == [0, 1]
    assert list(spec.windows_containing(8)) == [1]
    assert list(spec.windows_containing(-1)) == [-1]


def test_an_instant_in_the_gap_of_a_hopping_window_is_in_none():
    spec = WindowSpec(range_us=2, slide_us=5, start_us=1)
    assert [len(spec.windows_containing(t)) for t in range(-4, 7)] == [
        *(1, 1, 0, 0, 0),
        *(1, 1, 0, 0, 0),
        1,
    ]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (WindowSpec(60 * SECOND, 10 * SECOND), "RANGE 60 s SLIDE 10 s"),
        (WindowSpec(1_500_000, 20, -10), "RANGE 1.5 s SLIDE 0.00002 s START -0.00001 s"),
    ],
)
def test_it_reads_like_the_language(spec, text):
    assert str(spec) == text
