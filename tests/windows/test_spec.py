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
