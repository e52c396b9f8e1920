"""When answers come: early ones and those of windows without rows, against the plain twin.

Random queries with EMIT, of all aggregates and sharing modes, over ordered rows in several ticks,
many of them cut off in some step and resumed. The twin says what an open window has before an
instant and what a window has of nothing; that SQL says the same is left to
`tests/stories/test_emit.py`.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.mill import Mill, interrupted_tick
from tests.laws.queries import (
    EPOCHS,
    Asked,
    plan_of,
    random_queries,
    random_row,
    random_sample,
    random_settings,
    same_answers,
)
from tidemill.answer.gaps import Gaps, answered_numbers
from tidemill.reference.answers import (
    AcceptedRow,
    ReferenceAnswer,
    answers_of_all,
    early_answers,
)
from tidemill.schedule import Due
from tidemill.settings import Settings
from tidemill.windows import WindowSpec

SEEDS = 60
KEYS = ((), (), ("k",), ("n",))


def test_emitted_answers_equal_the_plain_twin(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        try_law(random.Random(seed), tmp_path / str(seed), seen)
    assert min(seen[kind] for kind in ("early", "empty", "both", "restarted")) > SEEDS, seen


def try_law(rng: random.Random, folder: Path, seen: Counter[str]) -> None:
    asked = random_queries(rng, rng.choice((1, 2, 5)), KEYS, emits=True)
    epoch, ticks = rng.choice(EPOCHS), rng.randrange(1, 6)
    times = sorted(epoch + rng.randrange(200_000) for _ in range(rng.choice((0, 8, 30, 40))))
    rows = [random_row(rng, time_us) for time_us in times]
    mill = Mill(folder, random_settings(rng), random_sample(rng), in_panes=rng.random() < 0.5)
    mill.lateness_us = rng.choice((0, 3_000))
    mill.change(asked)
    early: dict[str, list[ReferenceAnswer]] = {}
    for part in np.array_split(np.arange(len(rows)), ticks):
        before_us = mill.time.watermark_us
        interrupted_tick(mill, [rows[place] for place in part], rng, seen)
        for one in asked:
            so_far = one.with_truth(rows[: part[-1] + 1]) if len(part) else []
            early.setdefault(one.plan.name, []).extend(early_of(one, so_far, before_us, mill))
    mill.tick([], flush=True)
    for one in asked:
        emit, closing = one.plan.emit, one.reference(rows)
        if emit.empty_windows:
            every_window = answers_of_all(one.plan, one.with_truth(rows), max(times, default=0))
            seen["empty"] += len(every_window) - len(closing)
            closing = every_window
        # A window's last answer is the one that comes as it closes.
        wanted = early[one.plan.name] + closing
        same_answers(one.plan, mill.kept.answers.get(one.plan.name, []), wanted)
        seen["early"] += len(early[one.plan.name])
        seen["both"] += len(closing) if emit.every_us and emit.empty_windows else 0


def early_of(
    one: Asked, rows: list[AcceptedRow], before_us: int | None, mill: Mill
) -> list[ReferenceAnswer]:
    """What a tick adds as the watermark passes an instant."""
    every_us, start_us = one.plan.emit.every_us, one.plan.window.start_us
    after_us = mill.time.watermark_us
    if not every_us or after_us is None or not rows:
        return []
    instants = range(after_us - every_us + 1, after_us + 1)
    (instant_us,) = (t for t in instants if (t - start_us) % every_us == 0)
    if before_us is not None and instant_us <= before_us:
        return []
    return early_answers(one.plan, rows, instant_us, after_us)


@given(st.sets(st.integers(0, 60)), st.integers(1, 70), st.integers(0, 9), st.booleans())
def test_gaps_are_answered_or_left_out_whole(
    members: set[int], windows: int, most: int, has_begun: bool
) -> None:
    with_rows = sorted(number for number in members if number < windows)
    run = Due(("q",), "s1", 10, 10, 0, windows, most_empty=most, has_begun=has_begun)
    numbers, gaps = answered_numbers(run, np.array(with_rows, dtype=np.int64))
    expected, skipped = plain_gaps(with_rows, windows, most, has_begun)
    assert numbers.tolist() == expected
    assert gaps == Gaps(has_begun or bool(with_rows), skipped)


def plain_gaps(
    with_rows: list[int], windows: int, most: int, has_begun: bool
) -> tuple[list[int], int]:
    """Every window in turn, with the gap since the last one with rows in hand."""
    answered: list[int] = []
    gap: list[int] = []
    skipped, counts = 0, has_begun
    for number in range(windows + 1):
        if number in with_rows or number == windows:
            is_short = len(gap) <= most
            answered += gap if counts and is_short else []
            skipped += len(gap) if counts and not is_short else 0
            answered += [number] if number < windows else []
            counts, gap = True, []
        else:
            gap.append(number)
    return answered, skipped


def test_a_query_that_moves_before_it_begins_has_the_windows_without_rows(tmp_path: Path) -> None:
    """The first window with rows is read from one synopsis, those without from the next."""
    texts = (
        "COUNT(*) AS c FROM s [RANGE 10 us SLIDE 10 us] EMIT EMPTY WINDOWS",
        "k, COUNT(*) AS c FROM s [RANGE 20 us SLIDE 10 us] GROUP BY k",
    )
    asked = [Asked(plan_of(n, f"SELECT {t}"), lambda _row: True) for n, t in enumerate(texts)]
    mill = Mill(tmp_path, Settings(sharing="none"))
    mill.change(asked)
    mill.tick([AcceptedRow(5, {"k": "a"})])
    mill.settings = Settings(sharing="shared")
    mill.rebuild()
    mill.tick([], promised_us=40)
    mill.tick([AcceptedRow(57, {"k": "a"})])
    mill.tick([], flush=True)
    assert len(mill.plan.stints["q0"]) > 1
    assert [row[::2] for row in mill.kept.answers["q0"]] == [
        (start, (int(start in (0, 50)),)) for start in range(0, 60, 10)
    ]


def test_the_year_9999_is_one_gap(tmp_path: Path) -> None:
    """A window a microsecond: nobody could count through them."""
    plan = plan_of(
        0, "SELECT COUNT(*) AS c FROM s [RANGE 2 us SLIDE 1 us] EMIT EVERY 1 us, EMPTY WINDOWS"
    )
    times = [0, 9, EPOCHS[-1], EPOCHS[-1] + 5]
    mill = Mill(tmp_path)
    mill.change([Asked(plan, lambda _row: True)])
    for time_us in times:
        mill.tick([AcceptedRow(time_us, {})])
    mill.tick([], flush=True)
    closing = [row for row in mill.kept.answers["q0"] if row[2][0] == row[1]]
    spec = WindowSpec(2, 1)
    with_rows = {start for t in times for start in range(t - 1, t + 1)}
    near = [start for t in (0, EPOCHS[-1]) for start in range(t - 1, t + 10)]
    assert {start for start, *_ in closing} >= with_rows
    assert {start for start, *_ in closing} <= {*near, *range(-1, 10 + 2 * spec.range_us)}
    skipped = mill.journal.load_queries()["q0"].gaps.skipped
    assert skipped == EPOCHS[-1] - 1 - 10
