"""Requests that differ in what they select are answered together, and errors stay apart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.laws.mill import Mill
from tests.laws.queries import Asked, plan_of
from tidemill.answer.answering import answer
from tidemill.answer.request import QueryBatch, WindowRequest, answer_requests
from tidemill.answer.shapes import lift
from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.predicates import Reading
from tidemill.plan.query import QueryPlan
from tidemill.reference.answers import AcceptedRow
from tidemill.state.pieces import read_bucket
from tidemill.windows import BEGINNING_US

SELECTS = ("k, COUNT(*) / COUNT(n) AS b", "k, COUNT(*) AS c", "COUNT(n) AS d, SUM(n) AS e")
KEPT = "FROM s [RANGE 8 ms SLIDE 8 ms] GROUP BY k HAVING COUNT(*) > {}"
TOP = f"{KEPT} ORDER BY COUNT(*) DESC LIMIT {{}}"


def request_of(plan: QueryPlan) -> WindowRequest:
    starts, owner = np.arange(0, 24_000, 8_000), np.zeros(3, np.int64)
    return WindowRequest(QueryBatch.of([lift(plan)]), owner, starts, starts + 8_000)


def plans(*endings: str) -> list[QueryPlan]:
    texts = [f"SELECT {chosen} {ending}" for ending in endings for chosen in SELECTS]
    return [plan_of(number, text) for number, text in enumerate(texts)]


def test_select_lists_without_constants_are_worked_out_together() -> None:
    endings = KEPT.format(1), KEPT.format(2), TOP.format(1, 2)
    requests = answer_requests([request_of(plan) for plan in plans(*endings)])
    assert [request.places for request in requests] == [(0, 1, 2, 3, 4, 5), (6, 7, 8)]


def test_constants_and_whole_windows_stay_apart() -> None:
    tails = "FROM s [RANGE 8 ms SLIDE 8 ms] GROUP BY k", KEPT.format(1)
    chosen = ("k", "COUNT(*) AS c"), ("COUNT(*) + 1 AS c", "COUNT(*) + COUNT(n) * 2 AS c")
    for tail, texts in zip(tails, chosen, strict=True):
        made = [plan_of(n, f"SELECT {text} {tail}") for n, text in enumerate(texts)]
        assert len(answer_requests([request_of(plan) for plan in made])) == 2


def test_signatures_are_looked_at_for_the_conditions_with_windows_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty conditions are read alike, and one of them is due."""
    window = "FROM s [RANGE 8 ms SLIDE 8 ms]"
    made = [plan_of(n, f"SELECT COUNT(*) AS c {window} WHERE n > {n}") for n in range(20)]
    mill = Mill(tmp_path, buckets=1, lateness_us=10**6)
    mill.change([Asked(plan, lambda _row: True) for plan in made])
    mill.tick([AcceptedRow(t * 500, {"n": 100}) for t in range(48)])
    (synopsis,) = mill.plan.synopses
    (piece,) = mill.version.of(synopsis.id)
    cells = read_bucket(
        tmp_path / "synopses" / synopsis.id, synopsis, piece, 0, BEGINNING_US, 2**62
    )
    looked_at = Counter[Reading]()
    matches = Reading.matches

    def counted(reading: Reading, signatures: IntArray) -> BoolArray:
        looked_at[reading] += 1
        return matches(reading, signatures)

    monkeypatch.setattr(Reading, "matches", counted)
    readings = [mill.plan.stints[plan.name][-1].reading for plan in made]
    batch = QueryBatch.of([lift(plan) for plan in made], readings)
    starts = np.array([0])
    (answers,) = answer(
        synopsis, cells, [WindowRequest(batch, np.array([7]), starts, starts + 8_000)]
    )
    assert answers.counts.tolist() == [0] * 7 + [1] + [0] * 12
    assert looked_at == {readings[7]: 1}


def test_together_and_alone_give_the_same(tmp_path: Path) -> None:
    """Of group b every n is NULL: to divide by their number raises, where it is selected."""
    made = plans(KEPT.format(1), KEPT.format(3), TOP.format(0, 2), TOP.format(0, 1))
    rows = [
        AcceptedRow(t * 500, {"k": "abc"[t % 3], "n": None if t % 3 == 1 else t}) for t in range(48)
    ]
    mill = Mill(tmp_path, buckets=1, lateness_us=10**6)
    mill.change([Asked(plan, lambda _row: True) for plan in made])
    mill.tick(rows)
    (synopsis,) = mill.plan.synopses
    (piece,) = mill.version.of(synopsis.id)
    folder = tmp_path / "synopses" / synopsis.id
    cells = read_bucket(folder, synopsis, piece, 0, BEGINNING_US, 2**62)
    requests = [request_of(plan) for plan in made]
    together = answer(synopsis, cells, requests)
    for request, answers in zip(requests, together, strict=True):
        (alone,) = answer(synopsis, cells, [request])
        assert answers.counts.tolist() == alone.counts.tolist()
        assert answers.raised.tolist() == alone.raised.tolist()
        assert answers.rows is not None
        assert answers.rows.equals(alone.rows)
    raised = [answers.raised.tolist() for answers in together]
    flags = [
        sum(answers.rows.column("_raised").to_pylist())
        for answers in together[6:]
        if answers.rows is not None
    ]
    assert raised == [[3], [0], [0], [3], [0], [0], *[[0]] * 6]
    assert flags[0] > 0
    assert flags[1:3] == [0, 0]
