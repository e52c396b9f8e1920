"""Queries that have windows in common are decided and answered as if each stood alone.

Some questions are asked once each in one mill, and by one to four queries each in another. Compared
are the answers, in order, and the counts in the journal, early answers and windows without rows
among them, all at once and in parts. What is due is decided once for all who have it in common,
and comes back from the tick log as it was written.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.laws.mill import Mill
from tests.laws.queries import (
    EPOCHS,
    Asked,
    random_queries,
    random_row,
    random_settings,
    same_answers,
)
from tidemill.engine.tick import answer
from tidemill.engine.tick.journal import Decision, QueryState
from tidemill.engine.tick.machine import Decided, Stage
from tidemill.engine.tick.report import TickReport
from tidemill.reference.answers import AcceptedRow, ReferenceAnswer
from tidemill.schedule import Due
from tidemill.time import Register

SEEDS = 20


@dataclass
class Outcome:
    """What a mill decided, and what each query has got of it."""

    due: list[list[Due]]  # by tick
    answers: dict[str, list[ReferenceAnswer]]
    states: dict[str, QueryState]


def run(mill: Mill, asked: Sequence[Asked], ticks: Sequence[list[AcceptedRow]]) -> Outcome:
    mill.change(asked)
    due = [tick(mill, rows) for rows in ticks]
    due.append(tick(mill, [], flush=True))
    return Outcome(due, mill.kept.answers, mill.journal.load_queries())


def tick(mill: Mill, rows: list[AcceptedRow], flush: bool = False) -> list[Due]:
    stage: Stage | TickReport = mill.begin(rows, flush)
    due: list[Due] = []
    while not isinstance(stage, TickReport):
        stage = mill.machine().advance(stage)
        if isinstance(stage, Decided):
            due += stage.decision.due
            assert Decision.from_json(stage.decision.to_json()) == stage.decision
    return due


def windows_of(due: list[Due], asked: Sequence[Asked]) -> Counter[tuple[int, ...]]:
    """The runs of windows of queries that share them: none that is answered without rows."""
    shares = {one.plan.name for one in asked if not one.plan.emit.empty_windows}
    return Counter(
        (run.range_us, run.slide_us, run.first_us, run.windows, run.as_of_us or 0)
        for run in due
        if shares.issuperset(run.queries)
    )


def test_queries_with_windows_in_common_are_answered_as_if_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        rng = random.Random(seed)
        questions = random_queries(rng, rng.randrange(1, 5), emits=True)
        crowd = [
            one.named(f"{one.plan.name}_{number}")
            for one in questions
            for number in range(rng.randrange(1, 5))
        ]
        rng.shuffle(crowd)
        epoch, settings, buckets = rng.choice(EPOCHS), random_settings(rng), rng.randrange(1, 3)
        times = sorted(epoch + rng.randrange(200_000) for _ in range(40))
        rows = [random_row(rng, time_us) for time_us in times]
        ticks = [rows[:15], rows[15:30], rows[30:]]
        settings = replace(settings, sharing="shared")
        alone = run(Mill(tmp_path / f"{seed}a", settings, buckets=buckets), questions, ticks)
        together = run(Mill(tmp_path / f"{seed}b", settings, buckets=buckets), crowd, ticks)
        for one in crowd:
            name, question = one.plan.name, one.plan.name.partition("_")[0]
            # As texts, because NaN is not equal to itself.
            assert repr(together.answers.get(name)) == repr(alone.answers.get(question))
            assert together.states.get(name) == alone.states.get(question)
            seen["answers"] += len(together.answers.get(name, ()))
        monkeypatch.setattr(answer, "MOST_WINDOWS", rng.randrange(1, 8))
        parts = run(Mill(tmp_path / f"{seed}c", settings, buckets=buckets), crowd, ticks)
        monkeypatch.undo()
        for one in crowd:
            in_parts, at_once = (o.answers.get(one.plan.name, []) for o in (parts, together))
            same_answers(one.plan, in_parts, at_once)
        assert parts.states == together.states
        seen["parts"] += sum(sum(run.windows for run in runs) > 8 for runs in parts.due)
        for many_due, few_due in zip(together.due, alone.due, strict=True):
            assert windows_of(many_due, crowd) == windows_of(few_due, questions)
        every = [run for runs in together.due for run in runs]
        seen["shared"] += sum(len(run.queries) > 1 for run in every)
        seen["early"] += sum(run.as_of_us is not None for run in every)
        seen["without rows"] += sum(run.most_empty is not None for run in every)
    assert (
        min(seen["answers"], seen["shared"], seen["early"], seen["without rows"], seen["parts"])
        > SEEDS
    )


def test_a_run_in_a_tick_of_an_earlier_release_is_one_query_s() -> None:
    now = Decision(Register(5, 4), due=(Due(("q",), "s1", 10, 5, 0, 3),))
    before = now.to_json().replace('[["q"], "s1"', '["q", "s1"')
    assert before != now.to_json()
    assert Decision.from_json(before) == now
