"""What a synopsis keeps for its readers, and lets go when they have gone."""

from __future__ import annotations

from tests.share.shared import query
from tidemill.plan.predicates import ALL_ROWS
from tidemill.share import StreamPosition, first_window
from tidemill.share.synopses import complete_since, fit_synopsis, new_synopsis
from tidemill.windows import BEGINNING_US, WindowSpec

SECOND = 1_000_000


def standing(newest_s: int, complete_s: int = 0) -> StreamPosition:
    return StreamPosition(newest_s * SECOND, newest_s * SECOND, {"s1": complete_s * SECOND})


def test_a_new_synopsis_is_complete_from_where_it_was_made() -> None:
    before = new_synopsis(1, [query(0)], StreamPosition())
    assert complete_since(before.synopsis, query(0), ALL_ROWS, StreamPosition()) == BEGINNING_US
    later = new_synopsis(1, [query(0)], standing(30))
    assert complete_since(later.synopsis, query(0), ALL_ROWS, standing(30)) == 30 * SECOND + 1


def test_a_bit_that_went_is_given_away_once_its_slices_have_expired() -> None:
    one, two, three = (query(n, where=f"n = {n}") for n in range(3))
    made = new_synopsis(1, [one, two], StreamPosition())
    readings = {one: made.readings["q0"]}
    dropped = fit_synopsis(made.synopsis, readings, [], standing(30)).synopsis
    assert [bit.number for bit in dropped.bits] == [0]
    assert dropped.retired == ((1, 30 * SECOND + 1),)
    soon = fit_synopsis(dropped, readings, [three], standing(40, complete_s=20)).synopsis
    assert [bit.number for bit in soon.bits] == [0, 2]
    late = fit_synopsis(dropped, readings, [three], standing(90, complete_s=60)).synopsis
    assert [bit.number for bit in late.bits] == [0, 1]
    assert late.retired == ()


def test_rows_without_a_bit_are_kept_only_while_somebody_reads_them() -> None:
    every, some = query(0), query(1, where="n = 1")
    made = new_synopsis(1, [every, some], StreamPosition())
    assert made.synopsis.all_since_us == BEGINNING_US
    without = fit_synopsis(made.synopsis, {some: made.readings["q1"]}, [], standing(30)).synopsis
    assert without.all_since_us is None
    again = fit_synopsis(without, {some: made.readings["q1"]}, [every], standing(50)).synopsis
    assert again.all_since_us == 50 * SECOND + 1


def test_cuts_that_no_slice_needs_are_let_go() -> None:
    """A synopsis may live for years, and its readers come and go every minute."""
    synopsis, reading = new_synopsis(1, [query(0)], StreamPosition()).synopsis, {query(0): ALL_ROWS}
    for minute in range(1, 50):
        stands = standing(60 * minute, complete_s=60 * (minute - 1))
        other = query(1, window=f"RANGE {minute % 7 + 2} s SLIDE {minute % 7 + 2} s")
        synopsis = fit_synopsis(synopsis, reading, [other], stands).synopsis
        assert (
            synopsis.cuts.since(WindowSpec(60 * SECOND, 60 * SECOND)) <= 60 * (minute - 1) * SECOND
        )
    assert len(synopsis.cuts.cuts) <= 4


def test_the_first_window_is_whole_and_open() -> None:
    spec = WindowSpec(20, 10)
    assert first_window(spec, BEGINNING_US, None) == BEGINNING_US
    assert first_window(spec, 33, None) == 40
    assert first_window(spec, 33, 55) == 40
    assert first_window(spec, 33, 60) == 50
