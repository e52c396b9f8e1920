"""Spark on demand, with a stand-in for Spark: who starts it, and what the user is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tidemill.spark import on_demand
from tidemill.spark.jobs import LIMITS, Workplace, WorkSize
from tidemill.spark.on_demand import START_NS, SparkOnDemand

SESSION = cast(Any, SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2)))


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_demand, "running_session", lambda: None)


class Starts:
    """The masters of the sessions that were started, and what was told meanwhile."""

    def __init__(self, failures: int = 0) -> None:
        self.masters: list[str | None] = []
        self.told: list[str] = []
        self.failures = failures

    def __call__(self, master: str | None) -> Any:
        self.masters.append(master)
        if len(self.masters) <= self.failures:
            raise OSError("no Java")
        return SESSION

    def on_demand(self, master: str | None) -> SparkOnDemand:
        return SparkOnDemand(master, self.told.append, start=self)


def test_nothing_is_started_before_it_is_asked_for() -> None:
    starts = Starts()
    assert starts.on_demand("local[3]").cores == 3
    assert (starts.masters, starts.told) == ([], [])


def test_it_starts_once_and_says_what_for() -> None:
    starts = Starts()
    spark = starts.on_demand("local[3]")
    assert spark("table hosts") is SESSION
    assert spark("table ports") is SESSION
    assert starts.masters == ["local[3]"]
    assert starts.told == ["starting Spark for table hosts"]


def test_a_start_that_fails_is_tried_again_by_the_next_who_asks() -> None:
    starts = Starts(failures=1)
    spark = starts.on_demand(None)
    with pytest.raises(OSError, match="no Java"):
        spark()
    assert spark() is SESSION
    assert starts.told == ["starting Spark", "starting Spark"]


def test_a_session_that_runs_already_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_demand, "running_session", lambda: SESSION)
    starts = Starts()
    assert starts.on_demand(None)("anything") is SESSION
    assert (starts.masters, starts.told) == ([], [])


LARGE = WorkSize(scanned_rows=50_000_000)


def test_small_work_has_its_place_whether_spark_is_there_or_not() -> None:
    starts = Starts()
    spark = starts.on_demand("local[2]")
    assert spark.workplace_of(WorkSize()) is Workplace.HERE
    assert spark.workplace_of(WorkSize(scanned_rows=5)) is Workplace.THREADS
    assert not starts.masters


def test_large_work_is_done_by_threads_until_spark_could_have_started() -> None:
    starts = Starts()
    spark, others = starts.on_demand("local[2]"), starts.on_demand("local[2]")
    each_ns = LARGE.scanned_rows * LIMITS["scanned_rows"].each_ns
    places = [spark.workplace_of(LARGE) for _ in range(START_NS // each_ns + 2)]
    assert places == [Workplace.THREADS] * (START_NS // each_ns) + [Workplace.JOB] * 2
    huge = WorkSize(scanned_rows=START_NS)
    assert others.workplace_of(huge) is Workplace.JOB
    assert others.workplace_of(LARGE) is Workplace.THREADS
    assert not starts.masters


def test_where_spark_is_there_large_work_is_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    spark = Starts().on_demand("local[2]")
    assert spark.workplace_of(LARGE) is Workplace.THREADS
    spark("table hosts")
    assert spark.workplace_of(LARGE) is Workplace.JOB
    monkeypatch.setattr(on_demand, "running_session", lambda: SESSION)
    assert Starts().on_demand(None).workplace_of(LARGE) is Workplace.JOB


def test_a_cluster_gets_large_work_from_the_first_on() -> None:
    spark = Starts().on_demand("spark://host:7077")
    assert spark.workplace_of(WorkSize(scanned_rows=1_000_000)) is Workplace.THREADS
    assert spark.workplace_of(WorkSize(scanned_rows=1_000_001)) is Workplace.JOB
