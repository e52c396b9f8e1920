"""What a synopsis keeps for its readers, and lets go when they have gone."""

from __future__ import annotations

from tests.laws.queries import plan_of
from tests.share.shared import query
from tidemill.plan.predicates import ALL_ROWS
from tidemill.plan.query import QueryPlan
from tidemill.share import StreamPosition, first_window
from tidemill.share.synopses import complete_since, fit_synopsis, new_synopsis
from tidemill.state.synopsis import Synopsis
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


def asking(number: int, *aggregates: str) -> QueryPlan:
    items = ", ".join(f"{sql} AS a{n}" for n, sql in enumerate(aggregates))
    return plan_of(number, f"SELECT {items} FROM s [RANGE 60 s SLIDE 60 s]")


def lanes(synopsis: Synopsis) -> list[str]:
    return [lane.sql for lane in synopsis.lanes]


def refit(synopsis: Synopsis, stay: list[QueryPlan], come: list[QueryPlan], now_s: int) -> Synopsis:
    return fit_synopsis(synopsis, dict.fromkeys(stay, ALL_ROWS), come, standing(now_s)).synopsis


def since(synopsis: Synopsis, plan: QueryPlan) -> int:
    return complete_since(synopsis, plan, ALL_ROWS, StreamPosition())


def test_what_derives_from_another_wish_needs_no_lane() -> None:
    least, several = asking(0, "MIN(n)", "MAX(n)"), asking(1, "MEDIAN(n)", "COUNT(n)", "MIN(x)")
    made = new_synopsis(1, [least, several], StreamPosition()).synopsis
    assert lanes(made) == ["rows(*)", "counts(n)", "min(x)"]
    assert since(made, least) == since(made, several) == BEGINNING_US


def test_what_was_derived_is_complete_from_where_its_source_was() -> None:
    least, counting = asking(0, "MIN(n)"), asking(1, "MEDIAN(n)")
    first = refit(new_synopsis(1, [query(0, "")], StreamPosition()).synopsis, [], [counting], 30)
    both = refit(first, [counting], [least], 50)
    assert lanes(both) == ["rows(*)", "counts(n)"]
    assert since(both, least) == 30 * SECOND + 1
    alone = refit(both, [least], [], 70)
    assert lanes(alone) == ["rows(*)", "min(n)"]
    assert since(alone, least) == 30 * SECOND + 1
    (_, lane) = alone.kept_lanes
    assert lane.source == both.kept_lanes[1]
    # Older pieces have both under columns of their own.
    assert not set(lane.columns) & set(both.kept_lanes[1].columns)


def test_counts_that_come_later_leave_alone_what_stands() -> None:
    least, counting = asking(0, "MIN(n)"), asking(1, "MEDIAN(n)")
    made = new_synopsis(1, [least], StreamPosition()).synopsis
    both = refit(made, [least], [counting], 50)
    assert lanes(both) == ["rows(*)", "min(n)", "counts(n)"]
    assert since(both, least) == BEGINNING_US
    assert since(both, counting) == 50 * SECOND + 1
    another = asking(2, "MIN(n)")
    assert since(refit(both, [least, counting], [another], 60), another) == BEGINNING_US


def test_a_reader_keeps_the_sketch_that_it_began_with() -> None:
    fine, finer, coarse = (
        asking(n, f"APPROX_COUNT_DISTINCT(n, {error})")
        for n, error in enumerate(("0.01", "0.002", "0.1"))
    )
    made = new_synopsis(1, [fine], StreamPosition()).synopsis
    three = refit(refit(made, [fine], [coarse], 30), [fine, coarse], [finer], 50)
    assert len(three.lanes) == 3
    # The finest came last; the one who began before it reads what is complete for it.
    left = refit(three, [coarse, finer], [], 70)
    assert left.kept_lanes == three.kept_lanes
    assert since(left, coarse) == BEGINNING_US
    assert since(left, finer) == 50 * SECOND + 1
    # Nobody of those who began with it is left.
    assert lanes(refit(left, [finer], [], 90)) == ["rows(*)", "hll(n, 19)"]
