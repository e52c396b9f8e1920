"""Recordings in recorded order: arrivals by the rule as it is written, and one clock for all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.connect.sources.test_check import COLUMNS, opened, write_parts
from tidemill.connect.sources.check import CheckedSource, check_source
from tidemill.connect.sources.recordings import Played, RecordedClock, Recording
from tidemill.language.names import Name

SECOND_US = 1_000_000


def test_it_keeps_what_every_source_promises(tmp_path: Path) -> None:
    place, csv = write_parts(tmp_path / "in", "parquet"), write_parts(tmp_path / "csv", "csv")
    (tmp_path / "empty").mkdir()
    check_source(
        CheckedSource(
            opened(f"replay:{place}?recorded=true&speed=0"),
            COLUMNS,
            wrong=[
                opened(f"replay:{place}?recorded=maybe"),
                opened(f"replay:{place}?recorded=true&sped=3"),
                opened(f"replay:{place}?recorded=true&speed=-3"),
                opened(f"replay:{csv}?recorded=true"),
                opened(f"replay:{tmp_path / 'empty'}?recorded=true"),
            ],
        )
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.none() | st.integers(-9, 40), min_size=1, max_size=9), min_size=1, max_size=3
    ),
    st.integers(1, 4),
)
def test_arrivals_are_the_rows_of_a_second_of_the_newest_time(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int | None]], group: int
) -> None:
    """Halves of seconds, in files of small row groups."""
    folder = tmp_path_factory.mktemp("recording")
    for number, halves in enumerate(files):
        times = [None if half is None else half * SECOND_US // 2 for half in halves]
        rows = {"ts": pa.array(times, pa.timestamp("us", "UTC"))}
        pq.write_table(pa.table(rows), folder / f"{number}.parquet", row_group_size=group)
    recording = Recording.of(sorted(map(str, folder.iterdir())), "ts")
    halves_in_order = [half for halves in files for half in halves]
    earliest = min((half for half in halves_in_order if half is not None), default=0)
    expected: dict[int, list[int]] = {}
    newest = earliest
    for row, half in enumerate(halves_in_order):
        newest = max(newest, earliest if half is None else half)
        expected.setdefault(newest // 2, []).append(row)
    assert recording.seconds.tolist() == list(expected)
    spans = {second: list(range(*recording.span(second))) for second in expected}
    assert spans == expected
    assert recording.count(-99, 99) == len(halves_in_order)


def played(*seconds: int, taken_before: int | None = None) -> Played:
    array = np.array(seconds, dtype=np.int64)
    newest = array * SECOND_US
    recording = Recording((), (), array, np.arange(len(array)), len(array), newest)
    return Played(recording, taken_before)


def order_of(clock: RecordedClock, recordings: dict[str, Played]) -> list[tuple[str, int, int]]:
    """Polled in turn: who took which second, and who was looked at in vain, with the clock."""
    done: dict[str, int | None] = {name: each.second for name, each in recordings.items()}
    order = []
    is_any = True
    while is_any or clock.go_on(0):
        is_any = False
        for name, each in recordings.items():
            next_s = Played(each.recording, done[name]).next_second
            limit_s = clock.limit_s(Name(name), next_s)
            assert clock.now_us is not None
            if limit_s is not None and next_s is not None:
                done[name] = limit_s + 1
                order.append((name, next_s, clock.now_us // SECOND_US - 1))
                is_any = True
    return order


def test_each_is_taken_to_the_same_second_in_turn() -> None:
    recordings = {"a": played(1, 2, 5), "b": played(2, 4, 5)}
    clock = RecordedClock()
    clock.play({Name(name): each for name, each in recordings.items()})
    order = order_of(clock, recordings)
    assert order == [("a", 1, 1), ("a", 2, 2), ("b", 2, 2), ("b", 4, 4), ("a", 5, 5), ("b", 5, 5)]


def test_after_a_restart_the_clock_is_where_the_furthest_had_come() -> None:
    recordings = {"a": played(1, 2, 5, taken_before=6), "b": played(2, 4, 5, taken_before=3)}
    clock = RecordedClock()
    clock.play({Name(name): each for name, each in recordings.items()})
    assert order_of(clock, recordings) == [("b", 4, 5)]


def test_nobody_waits_for_one_that_rests() -> None:
    clock = RecordedClock()
    recordings = {"a": played(1, 3), "b": played(1, 2)}
    clock.play({Name(name): each for name, each in recordings.items()})
    clock.leave(Name("b"))
    assert [second for _, second, _ in order_of(clock, {"a": recordings["a"]})] == [1, 3]


def test_the_slowest_tells_the_speed_and_long_silences_are_crossed() -> None:
    clock, year_s = RecordedClock(), 31_536_000
    recording = played(1, year_s).recording
    clock.play({Name("a"): Played(recording, None, 2.0), Name("b"): Played(recording, None)})
    assert clock.latest_s(0) == 1
    assert clock.latest_s(3 * SECOND_US) == 7
    assert not clock.go_on(0)
    assert clock.go_on(3 * SECOND_US)
    clock = RecordedClock()
    clock.play({Name("a"): Played(recording, None)})
    assert [second for _, second, _ in order_of(clock, {"a": Played(recording, None)})] == [
        1,
        year_s,
    ]
    assert clock.now_us == (year_s + 1) * SECOND_US
