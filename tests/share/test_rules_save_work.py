"""Each sharing rule saves work in real ticks: queries that share by it do less than each apart.

The ticks are the engine's own, but for the lift of rows, which plain loops do. Beside the query
that shares by a rule stands one that does not: with that one nothing of this work is saved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.laws.conditions import Truth
from tests.laws.lifting import partial_rows
from tests.laws.mill import Mill
from tests.laws.queries import STREAM, Asked, plan_of, same_answers
from tests.share.goldens import check
from tests.share.weave.words import US
from tidemill.answer.request import Evaluations
from tidemill.explain.shared import explain_shared
from tidemill.explain.stream_model import Arrangement
from tidemill.reference.answers import AcceptedRow
from tidemill.settings import Settings
from tidemill.share import Context, EngineCosts, Sample, SharedPlan, StreamPosition, change_plan
from tidemill.share.rules import (
    CS1,
    CS2,
    CS3,
    CS6,
    CS7,
    CS8,
    DOING,
    KEEPING,
    SS1,
    SS2,
    SS4,
    Rule,
)
from tidemill.state.feed import Feed
from tidemill.state.fold import fold_feed
from tidemill.state.pieces import read_bucket

SPAN_S, TICK_ROWS = 120, 40
ROWS_LANE = "rows(*)"
ROWS, TRIED, PARTIALS = "rows put into cells", "conditions tried on rows", "partial results kept"
READ, EVALUATED = "cells read for answers", "windows put together"
LOW, HIGH, MIDDLE, EITHER = "n < 30", "n >= 60", "n BETWEEN 30 AND 59", "n < 30 OR n >= 60"
LOWER, UPPER = "n < 60", "n >= 30"
TRUTHS: dict[str, Truth] = {
    "": lambda _: True,
    LOW: lambda values: values["n"] < 30,
    HIGH: lambda values: values["n"] >= 60,
    MIDDLE: lambda values: 30 <= values["n"] < 60,
    EITHER: lambda values: not 30 <= values["n"] < 60,
    LOWER: lambda values: values["n"] < 60,
    UPPER: lambda values: values["n"] >= 30,
}
SETTINGS = Settings(sharing="shared", steps_off="group_by_tree")


@dataclass(frozen=True)
class Question:
    """A query by its parts."""

    what: str = "SUM(n) AS v"
    window: str = "12 s SLIDE 6 s"
    where: str = ""
    key: str = "k"

    def asked(self, number: int) -> Asked:
        condition = f"WHERE {self.where}" if self.where else ""
        sql = f"SELECT {self.key}, {self.what} FROM s [RANGE {self.window}] {condition}"
        return Asked(plan_of(number, f"{sql} GROUP BY {self.key}"), TRUTHS[self.where])


class Work(Counter[str]):
    """What ticks do, counted where they do it."""

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tests.laws.mill.fold_feed", self._fold)
        monkeypatch.setattr("tests.laws.mill.partial_rows", self._lift)
        monkeypatch.setattr("tidemill.answer.task.read_bucket", self._read)
        monkeypatch.setattr(Evaluations, "of", staticmethod(self._evaluations(Evaluations.of)))

    def _lift(self, one_pass: Any, feed: Feed, rows: Sequence[AcceptedRow], *given: Any) -> Any:
        # A condition is tried once in a pass, whichever feeds want it.
        first = feed is one_pass[0]
        self[TRIED] += len(rows) * len(feed.scan.predicates) if first else 0
        return partial_rows(one_pass, feed, rows, *given)

    def _fold(self, feed: Feed, root: Any) -> Iterator[tuple[Any, Any]]:
        place = next(n for n, lane in enumerate(feed.lanes) if lane.sql == ROWS_LANE)
        self[ROWS] += int(root.lanes[place].values.sum())
        for synopsis, cells in fold_feed(feed, root):
            self[PARTIALS] += len(cells) * sum(lane.sql != ROWS_LANE for lane in synopsis.lanes)
            yield synopsis, cells

    def _read(self, *given: Any) -> Any:
        cells = read_bucket(*given)
        self[READ] += len(cells)
        return cells

    def _evaluations(self, of: Callable[[Any], Evaluations]) -> Callable[[Any], Evaluations]:
        def counted(request: Any) -> Evaluations:
            evaluations = of(request)
            self[EVALUATED] += len(evaluations)
            return evaluations

        return counted


def rows_of_stream() -> list[AcceptedRow]:
    """Two a second; rows of every condition come in every second window."""
    values = {"big": 7, "x": 1.5, "price": None}
    times = [number * US // 2 for number in range(2 * SPAN_S)]
    return [
        AcceptedRow(t, {"ts": t, "k": "ab"[n % 2], "n": n * 37 % 100, **values})
        for n, t in enumerate(times)
    ]


def milled(folder: Path, questions: Sequence[Question]) -> None:
    mill = Mill(folder, SETTINGS, Sample(rows_per_second=2.0), buckets=1, in_panes=False)
    asked = [question.asked(number) for number, question in enumerate(questions)]
    mill.change(asked)
    rows = rows_of_stream()
    for first in range(0, len(rows), TICK_ROWS):
        mill.tick(rows[first : first + TICK_ROWS])
    mill.tick([], flush=True)
    for each in asked:
        same_answers(each.plan, mill.kept.answers[each.plan.name], each.reference(rows))


@dataclass(frozen=True)
class Case:
    """`asked` shares with all the others by the rule; `stranger` does not."""

    rule: Rule[Any]
    work: str
    others: tuple[Question, ...]
    asked: Question
    stranger: Question


FINE = "9 s SLIDE 3 s"
CASES = [
    Case(SS1, ROWS, (Question(window=FINE),), Question(), Question(key="n")),
    Case(
        SS2,
        PARTIALS,
        (Question("SUM(n) AS v, COUNT(n) AS w"),),
        Question("AVG(n) AS v"),
        Question("AVG(big) AS v"),
    ),
    Case(
        SS4,
        TRIED,
        (Question(where=LOW), Question(where=HIGH)),
        Question(where=EITHER),
        Question(where=MIDDLE),
    ),
    Case(
        CS1,
        EVALUATED,
        (Question(),),
        Question(window="12 s SLIDE 9 s"),
        Question(window="12 s SLIDE 6 s START 1 s"),
    ),
    Case(CS2, READ, (Question(where=LOW),), Question(window=FINE, where=LOW), Question(where=HIGH)),
    Case(CS3, PARTIALS, (Question(),), Question("AVG(n) AS v"), Question("AVG(big) AS v")),
    Case(CS6, ROWS, (Question(where=HIGH),), Question(where=EITHER), Question(where=MIDDLE)),
    Case(
        CS7,
        ROWS,
        (Question(where=HIGH),),
        Question(window=FINE, where=EITHER),
        Question(window=FINE, where=MIDDLE),
    ),
    Case(
        CS8,
        EVALUATED,
        (Question(),),
        Question(window="12 s SLIDE 12 s"),
        Question(window="12 s SLIDE 12 s START 1 s"),
    ),
]


def test_every_rule_is_counted() -> None:
    assert [case.rule for case in CASES] == [*KEEPING, *DOING]


class Counting:
    """Work by questions, in mills of their own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch, self._mills = folder, monkeypatch, 0

    def work(self, kind: str, *questions: Question) -> int:
        self._mills += 1
        work = Work()
        with self._patch.context() as patch:
            work.watch(patch)
            milled(self._folder / str(self._mills), questions)
        return work[kind]

    def together_and_apart(self, kind: str, questions: Sequence[Question]) -> tuple[int, int]:
        apart = [self.work(kind, question) for question in questions]
        assert min(apart) > 0
        return self.work(kind, *questions), sum(apart)


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counting:
    return Counting(tmp_path, monkeypatch)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule.name)
def test_who_shares_by_a_rule_does_less_work(case: Case, counting: Counting) -> None:
    assert applies(case, case.asked)
    together, apart = counting.together_and_apart(case.work, (*case.others, case.asked))
    assert together < apart
    assert not applies(case, case.stranger)
    together, apart = counting.together_and_apart(case.work, (*case.others, case.stranger))
    assert together == apart


def applies(case: Case, asked: Question) -> bool:
    """Whether the rule holds between the query and the others, or their synopsis."""
    plans = [question.asked(n).plan for n, question in enumerate((*case.others, asked))]
    if case.rule in DOING:
        return all(case.rule.applies(plans[-1], other) for other in plans[:-1])
    (synopsis,) = change_plan(SharedPlan(), plans[:-1], around_nothing).synopses
    return case.rule.applies(plans[-1], synopsis)


def around_nothing(_stream: str) -> tuple[StreamPosition, Context]:
    return StreamPosition(), Context(SETTINGS, EngineCosts())


NARROW = tuple(Question(where=where, key="k, n") for where in (LOW, MIDDLE, HIGH))
WIDE = Question(where=EITHER, key="k, n")
SHORT = tuple(Question(where=w, key="k, n", window="6 s SLIDE 6 s") for w in (LOWER, UPPER))
COVERED = (*NARROW, WIDE, *SHORT)
# Who shares by the rule, and the work that it saves.
COUNTED = (
    (SS4, TRIED, COVERED),
    (CS6, ROWS, (NARROW[0], NARROW[2], WIDE)),
    (CS7, ROWS, (NARROW[0], NARROW[1], SHORT[0])),
)


def test_covers_are_chosen_by_default_and_what_their_rules_save_is_counted(
    counting: Counting, update_goldens: bool
) -> None:
    plans = [question.asked(number).plan for number, question in enumerate(COVERED)]
    context = Context(Settings(), EngineCosts(sample_of(COVERED)))
    plan = change_plan(SharedPlan(), plans, lambda _: (StreamPosition(), context))
    page = explain_shared([Arrangement(STREAM.key, plan, context.settings, context.costs)])
    counts = [
        (rule.name, work, *counting.together_and_apart(work, questions))
        for rule, work, questions in COUNTED
    ]
    assert all(f"\n  {name}  " in page for name, *_ in counts)
    assert all(together < apart for *_, together, apart in counts)
    table = [
        f"work counted over {len(rows_of_stream())} rows          together  each apart",
        *(f"  {name}  {work:<27}  {a:>8,}  {b:>10,}" for name, work, a, b in counts),
    ]
    check("rules.txt", "\n".join([page, "", *table]), update_goldens)


def sample_of(questions: Sequence[Question]) -> Sample:
    """All rows of the stream, as the engine samples those of a slow one."""
    rows = rows_of_stream()
    columns = {name: [row.values[name] for row in rows] for name in "kn"}
    keys = {name: np.unique(column, return_inverse=True)[1] for name, column in columns.items()}
    asked = [question.asked(number) for number, question in enumerate(questions)]
    bits = {
        each.plan.predicate: np.array([each.truth(row.values) is True for row in rows])
        for each in asked
    }
    return Sample(2.0, len(rows), keys, bits)
