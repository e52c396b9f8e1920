"""ISTREAM and DSTREAM: against the plain twin, and added up from nothing to every answer.

Random queries, each with its answers in whole and their changes, over random rows, ticks, sharing
modes and moves between synopses, many ticks cut off in some step and resumed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.laws.mill import Mill, interrupted_tick
from tests.laws.queries import (
    EPOCHS,
    Asked,
    close,
    random_queries,
    random_row,
    random_sample,
    random_settings,
    same_answers,
)
from tidemill.answer import deltas
from tidemill.engine.tick import answer
from tidemill.language.statements import Delta
from tidemill.reference.answers import AcceptedRow, ReferenceAnswer
from tidemill.reference.deltas import differences

SEEDS = 60
WORDS = (Delta.NONE, Delta.NEW, Delta.GONE)


def test_changes_equal_the_plain_twin_and_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        rng = random.Random(seed)
        # Few windows are answered at a time, and few rows compared.
        monkeypatch.setattr(answer, "MOST_WINDOWS", rng.choice((2, 9, 2**21)))
        monkeypatch.setattr(deltas, "ROWS_AT_A_TIME", rng.choice((1, 5, 2**16)))
        try_law(rng, tmp_path / str(seed), seen)
    kinds = ("came", "went", "went to nothing", "stayed", "distinct", "restarted", "moved")
    assert min(seen[kind] for kind in kinds) > SEEDS / 3, seen


def try_law(rng: random.Random, folder: Path, seen: Counter[str]) -> None:
    asked = [of_one_length(rng, one, seen) for one in random_queries(rng, rng.choice((1, 2, 4)))]
    every = [with_word(one, word) for one in asked for word in WORDS]
    epoch, ticks = rng.choice(EPOCHS), rng.randrange(1, 7)
    # Rows come in bursts, with gaps in which answers go.
    bursts = [rng.randrange(400_000) for _ in range(rng.randrange(1, 4))]
    times = sorted(epoch + rng.choice(bursts) + rng.randrange(30_000) for _ in range(40))
    rows = [random_row(rng, time_us) for time_us in times]
    mill = Mill(folder, random_settings(rng), random_sample(rng), in_panes=rng.random() < 0.5)
    mill.lateness_us = rng.choice((0, 3_000))
    mill.change(every)
    for part in np.array_split(np.arange(len(rows)), ticks):
        interrupted_tick(mill, [rows[place] for place in part], rng, seen)
        if rng.random() < 0.4:
            mill.settings = random_settings(rng)
            mill.rebuild()
            moving = mill.plan.moving_of(mill.plan.streams[0])
            seen["moved"] += sum(bool(plan.delta) for plan in moving)
        mill.retire()
    mill.tick([], flush=True)
    for one in asked:
        check(one, mill, rows, seen)


def of_one_length(rng: random.Random, one: Asked, seen: Counter[str]) -> Asked:
    """The query with one length alone; at times its rows are distinct."""
    plan = replace(one.plan, window=replace(one.plan.window, other_ranges_us=()))
    if not plan.order_by and rng.random() < 0.6:
        plan = replace(plan, distinct=True, outputs=plan.outputs[-1:])
        seen["distinct"] += 1
    return replace(one, plan=plan)


def with_word(one: Asked, word: Delta) -> Asked:
    name = name_of(one, word)
    return replace(one, plan=replace(one.plan, name=name, delta=word))


def name_of(one: Asked, word: Delta) -> str:
    return f"{one.plan.name}_{word.name}"


def check(one: Asked, mill: Mill, rows: Sequence[AcceptedRow], seen: Counter[str]) -> None:
    whole, came, went = (mill.kept.answers.get(name_of(one, word), []) for word in WORDS)
    wanted = one.reference(rows)
    same_answers(one.plan, whole, wanted)
    slide_us = one.plan.window.slide_us
    twin_came, twin_went = differences(wanted, slide_us, equal)
    same_answers(one.plan, came, twin_came)
    same_answers(replace(one.plan, order_by=(), limit=None), went, twin_went)
    add_up(whole, came, went)
    windows = {(start, end) for start, end, _ in whole}
    seen["came"] += len(came)
    seen["went"] += len(went)
    seen["went to nothing"] += sum((start, end) not in windows for start, end, _ in went)
    seen["stayed"] += len(whole) - len(came)


def equal(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    return all(map(close, left, right))


def add_up(
    whole: Sequence[ReferenceAnswer],
    came: Sequence[ReferenceAnswer],
    went: Sequence[ReferenceAnswer],
) -> None:
    """From nothing: at every instant the rows that came and have not gone are the answer."""
    alive = list[tuple[Any, ...]]()
    ends = sorted({end for _, end, _ in (*whole, *came, *went)})
    assert all(earlier < later for earlier, later in pairwise(ends))
    for now in ends:
        for _, end, row in went:
            if end == now:
                alive.remove(next(other for other in alive if equal(other, row)))
        alive += [row for _, end, row in came if end == now]
        answer = [row for _, end, row in whole if end == now]
        assert len(alive) == len(answer)
        assert all(any(equal(row, other) for other in alive) for row in answer)
