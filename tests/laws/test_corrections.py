"""Closed windows answered again: random late rows against the plain twin, tick by tick.

Random queries of all aggregates and sharing modes over a stream that corrects. Ticks are cut off
in any step and resumed, queries pause and go on, plans are made anew, and flushes close windows
early. That text and files are judged by arrival is left to `tests/stories/test_corrections.py`.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

from tests.laws.mill import Mill, interrupted_tick
from tests.laws.queries import (
    EPOCHS,
    STREAM,
    Asked,
    plan_of,
    random_queries,
    random_row,
    random_sample,
    random_settings,
    same_answers,
)
from tidemill.reference.answers import AcceptedRow, ReferenceAnswer
from tidemill.reference.revisions import PlainRevisions
from tidemill.settings import SHARING_MODES

SEEDS = 16
LATENESS_US, CORRECT_US = 4_000, 90_000
CORRECTING = replace(STREAM, lateness_us=LATENESS_US, correct_us=CORRECT_US)
COMES_AND_GOES = """SELECT COUNT(*) AS c, SUM(n) AS s FROM s [RANGE 20 ms SLIDE 10 ms]
  HAVING COUNT(*) <> 3 AND COUNT(*) <> 5"""
KEYS = ((), ("k",), ("n",), ("k", "n"))


def a_mill(folder: Path, rng: random.Random) -> Mill:
    mill = Mill(folder, random_settings(rng), random_sample(rng), in_panes=rng.random() < 0.5)
    mill.lateness_us, mill.correct_us = LATENESS_US, CORRECT_US
    return mill


def late_rows(rng: random.Random, epoch: int, count: int) -> list[AcceptedRow]:
    """Rows in the order in which they come, most of them in time, some too old for anything."""
    delays = (0, 0, 30_000, 50_000, 70_000, 130_000)
    return [random_row(rng, epoch + 3_000 * n - rng.choice(delays)) for n in range(count)]


def test_windows_are_answered_again_as_the_plain_twin_does(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        try_law(random.Random(seed), tmp_path / str(seed), seen)
    happened = {"thrice", "withdrawn", "late", "paused", "rebuilt", "flushed", *SHARING_MODES}
    happened |= {"first with a revision", "again after a withdrawal"}
    happened |= {"Folded", "Decided", "Answered"}
    assert {name for name in happened if not seen[name]} == set(), seen
    assert min(seen[name] for name in ("thrice", "withdrawn", "late")) > SEEDS, seen


def try_law(rng: random.Random, folder: Path, seen: Counter[str]) -> None:
    asked = random_queries(rng, rng.choice((1, 3, 5)), KEYS, stream=CORRECTING)
    asked = [*asked, Asked(plan_of(7, COMES_AND_GOES, CORRECTING), lambda _row: True)]
    mill = a_mill(folder, rng)
    mill.change(asked)
    seen[mill.settings.sharing] += 1
    rows, size = late_rows(rng, rng.choice(EPOCHS), rng.choice((40, 60))), rng.randrange(3, 9)
    twins = {one.plan.name: PlainRevisions(one.plan) for one in asked}
    wanted: dict[str, list[ReferenceAnswer]] = defaultdict(list)
    ever_paused: set[str] = set()
    for first in range(0, len(rows), size):
        part, is_flush = rows[first : first + size], rng.random() < 0.05
        ever_paused |= disturb(mill, asked, rng, seen)
        before_us, accepted = mill.time.watermark_us, len(mill.accepted)
        interrupted_tick(mill, [] if is_flush else part, rng, seen, is_flush)
        seen["flushed"] += is_flush and first > 0
        for one in asked:
            came = one.with_truth(mill.accepted[accepted:])
            times = before_us, mill.time.watermark_us
            answered = twins[one.plan.name].tick(came, *times, one.plan.name in mill.paused)
            wanted[one.plan.name] += answered
    before_us, mill.paused = mill.time.watermark_us, frozenset()
    mill.tick([], flush=True)
    for one in asked:
        name = one.plan.name
        wanted[name] += twins[name].tick([], before_us, mill.time.watermark_us)
        got = mill.kept.answers.get(name, [])
        same_answers(one.plan, got, wanted[name])
        if name not in ever_paused:
            last_revisions_equal_one_answer(one, got, mill.accepted)
        note(got, seen)
    seen["late"] += mill.state.rows_late
    assert mill.state.rows_late == len(mill.rows) - len(mill.accepted)
    assert mill.state.rows_corrected > 0


def disturb(mill: Mill, asked: list[Asked], rng: random.Random, seen: Counter[str]) -> set[str]:
    """Between two ticks: another plan, and queries that pause or go on."""
    mill.retire()
    if rng.random() < 0.15:
        mill.rebuild()
        seen["rebuilt"] += 1
    if mill.paused or rng.random() < 0.1:
        goes_on = mill.paused and rng.random() < 0.5
        mill.paused = frozenset() if goes_on else frozenset({rng.choice(asked).plan.name})
        seen["paused"] += 1
    return set(mill.paused)


def last_revisions_equal_one_answer(
    one: Asked, got: list[ReferenceAnswer], accepted: list[AcceptedRow]
) -> None:
    """Whoever reads of each window the rows of the highest revision has what batch SQL says."""
    highest: dict[tuple[int, int], int] = {}
    for start_us, end_us, (number, *_) in got:
        highest[start_us, end_us] = max(highest.get((start_us, end_us), 0), number)
    last = [
        (start_us, end_us, tuple(values))
        for start_us, end_us, (number, is_withdrawn, *values) in got
        if number == highest[start_us, end_us] and not is_withdrawn
    ]
    once = replace(one, plan=one.plan.answered_once())
    same_answers(once.plan, last, once.reference(accepted))


def note(got: list[ReferenceAnswer], seen: Counter[str]) -> None:
    by_window: dict[tuple[int, int], dict[int, bool]] = {}
    for start_us, end_us, (number, is_withdrawn, *_) in got:
        by_window.setdefault((start_us, end_us), {})[number] = is_withdrawn
    for numbers in by_window.values():
        assert sorted(numbers) == list(range(min(numbers), max(numbers) + 1))
        seen["first with a revision"] += min(numbers) > 0
        seen["thrice"] += max(numbers) >= 3
        seen["withdrawn"] += any(numbers.values())
        seen["again after a withdrawal"] += any(numbers.values()) and not numbers[max(numbers)]


def count_mill(folder: Path, *sql: str, correct_us: int = CORRECT_US) -> tuple[Mill, list[Asked]]:
    """Queries over all rows, with no lateness."""
    asked = [Asked(plan_of(n, text, CORRECTING), lambda _row: True) for n, text in enumerate(sql)]
    mill = Mill(folder, correct_us=correct_us)
    mill.change(asked)
    return mill, asked


def rows_at(*times_ms: int) -> list[AcceptedRow]:
    return [AcceptedRow(t * 1_000, {"k": "a", "n": 1}) for t in times_ms]


def taken(mill: Mill, name: str) -> list[tuple[int, ...]]:
    """The start of each window in milliseconds, and its columns; each answer is taken once."""
    return [(start // 1_000, *values) for start, _, values in mill.kept.answers.pop(name, [])]


COUNTS = "SELECT COUNT(*) AS c FROM s [RANGE 10 ms SLIDE 10 ms]"


def test_a_query_revises_what_it_has_answered_itself(tmp_path: Path) -> None:
    mill, asked = count_mill(tmp_path, COUNTS)
    mill.tick(rows_at(5, 15, 31))
    assert taken(mill, "q0") == [(0, 0, False, 1), (10, 0, False, 1)]
    mill.change([*asked, asked[0].named("newcomer")])
    mill.tick(rows_at(6, 25))
    assert taken(mill, "q0") == [(0, 1, False, 2), (20, 1, False, 1)]
    assert taken(mill, "newcomer") == []
    mill.tick(rows_at(41))
    mill.tick(rows_at(32))
    mine, others = taken(mill, "q0"), taken(mill, "newcomer")
    assert mine == others == [(30, 0, False, 1), (30, 1, False, 2)]
    mill.paused = frozenset({"newcomer"})
    mill.tick(rows_at(51))
    mill.paused = frozenset()
    mill.tick(rows_at(43, 33))
    assert taken(mill, "newcomer") == [(30, 2, False, 3)], "never answered, never corrected"
    assert taken(mill, "q0") == [(40, 0, False, 1), (30, 2, False, 3), (40, 1, False, 2)]


def test_more_is_corrected_from_when_more_is_held(tmp_path: Path) -> None:
    """Rows that count by then may yet be too old for windows that are answered for good."""
    mill, _ = count_mill(tmp_path, COUNTS, correct_us=10_000)
    mill.tick(rows_at(5, 15, 25, 45))
    mill.correct_us = CORRECT_US
    mill.restarted()
    taken(mill, "q0")
    mill.tick(rows_at(6, 16, 26, 36))
    assert mill.state.rows_corrected == 4
    assert taken(mill, "q0") == [(30, 1, False, 1)]
    mill.tick(rows_at(66))
    mill.tick(rows_at(37, 47, 57))
    assert [row[:2] for row in taken(mill, "q0")] == [(40, 0), (30, 2), (40, 1), (50, 1)]


def test_a_query_leaves_rows_of_others_alone(tmp_path: Path) -> None:
    """Who reads the same slices by another condition answers nothing again."""
    mill, asked = count_mill(tmp_path, COUNTS)
    plan = plan_of(1, COUNTS.replace("]", "] WHERE n = 2"), CORRECTING)
    mill.change([*asked, Asked(plan, lambda row: row["n"] == 2)])
    mill.tick([*rows_at(5), AcceptedRow(6_000, {"k": "a", "n": 2}), *rows_at(31)])
    assert len(mill.plan.synopses) == 1
    mill.tick(rows_at(7))
    assert taken(mill, "q0") == [(0, 0, False, 2), (0, 1, False, 3)]
    assert taken(mill, "q1") == [(0, 0, False, 1)]


def test_early_answers_and_windows_without_rows(tmp_path: Path) -> None:
    """An early answer stands; what closed without rows is revised like any other."""
    mill, _ = count_mill(tmp_path, f"{COUNTS} EMIT EVERY 4 ms, EMPTY WINDOWS")
    mill.tick(rows_at(1, 6))
    mill.tick(rows_at(33))
    assert taken(mill, "q0") == [
        (0, 4_000, 0, False, 1),
        *((start, (start + 10) * 1_000, 0, False, 2 * (not start)) for start in (0, 10, 20)),
    ]
    mill.tick(rows_at(2, 25, 34))
    assert taken(mill, "q0") == [(0, 10_000, 1, False, 3), (20, 30_000, 1, False, 1)]
    mill.tick([], flush=True)
    assert taken(mill, "q0") == [(30, 40_000, 0, False, 2)]
    mill.tick(rows_at(39))
    assert taken(mill, "q0") == [(30, 40_000, 1, False, 3)]
