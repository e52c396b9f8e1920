"""ISTREAM, DSTREAM and DISTINCT over joins of windows, whose whole answers are compared elsewhere:
changes are differences of these, and distinct rows are theirs, each once. Through kills."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from tests.laws.kills import Mortal
from tests.laws.queries import close
from tests.stories.joins import JoinCase
from tests.stories.test_deltas import delivered
from tests.stories.test_window_joins import SCRIPT, SINK, draw, write_streams
from tidemill.engine import Engine
from tidemill.reference.deltas import Answer, differences

WORDS = ("RSTREAM", "ISTREAM", "DSTREAM", "DISTINCT")


def test_changes_and_distinct_rows_of_joins(tmp_path: Path) -> None:
    streams, cases = draw(13, 12)
    cases = [case for case in cases if case.groups]
    write_streams(tmp_path, streams, {"s1": 5, "s2": 3, "s3": 2})
    with Engine(tmp_path / "home") as engine:
        engine.sql(SINK.format(1) + SCRIPT, tmp_path)
        engine.sql("\n".join(worded(case, word) for case in cases for word in WORDS))
    mortal = Mortal(tmp_path / "home")
    mortal.run("answer", 1, 2, 0, 3)
    assert mortal.kills
    mortal.engine.run("flush")
    mortal.engine.close()
    came, went, fewer = zip(*(check(tmp_path, case) for case in cases), strict=True)
    assert min(map(sum, (came, went, fewer))) > 50, (came, went, fewer)


def worded(case: JoinCase, word: str) -> str:
    head, rest = case.create.split(" FROM ", 1)
    start, items = head.split("SELECT ", 1)
    start = start.replace(case.name, f"{case.name}_{word}")
    if word != "DISTINCT":
        return f"{start}SELECT {word}({items}) FROM {rest}"
    # Without its keys some rows of an answer are equal; an order would need them.
    last = items.rsplit(", ", 1)[-1]
    return f"{start}SELECT DISTINCT {last} FROM {rest.split(' ORDER BY ')[0].rstrip(';')};"


def check(folder: Path, case: JoinCase) -> tuple[int, int, int]:
    """How many rows came and went, and how many there are twice."""
    got = {word: answers_of(folder, f"{case.name}_{word}") for word in WORDS}
    slide_us = next(look.slide_s for look in case.looks if look.slide_s) * 1_000_000
    wanted = differences(got["RSTREAM"], slide_us, lambda one, other: all(map(close, one, other)))
    for word, rows in zip(("ISTREAM", "DSTREAM"), wanted, strict=True):
        same(got[word], rows)
    return len(got["ISTREAM"]), len(got["DSTREAM"]), repeated(got["RSTREAM"], got["DISTINCT"])


def answers_of(folder: Path, name: str) -> list[Answer]:
    return [(start, start, tuple(row)) for start, *row in delivered(folder, name)]


def same(got: list[Answer], wanted: list[Answer]) -> None:
    assert len(got) == len(wanted)
    ordered = (sorted(answers, key=repr) for answers in (got, wanted))
    for one, other in zip(*ordered, strict=True):
        assert one[0] == other[0]
        assert all(map(close, one[2], other[2]))


def repeated(whole: list[Answer], distinct: list[Answer]) -> int:
    """The last column of the whole answers, each value once a window."""
    for start, answers in groupby(distinct, key=lambda answer: answer[0]):
        values: list[Any] = [row[0] for _, _, row in answers]
        every = [row[-1] for at, _, row in whole if at == start]
        assert all(any(close(value, other) for other in every) for value in values)
        assert all(any(close(value, other) for other in values) for value in every)
        assert len({repr(value) for value in values}) == len(values)
    return len(whole) - len(distinct)
