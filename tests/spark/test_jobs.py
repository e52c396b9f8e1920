"""Who does a piece of work: pure decisions, and threads; jobs are in the stories."""

from __future__ import annotations

import threading

import pytest

from tidemill.spark.jobs import (
    LIMITS,
    Workplace,
    WorkSize,
    balanced,
    catalyst_work,
    in_threads,
    scan_work,
    workplace_of,
)


@pytest.mark.parametrize(
    ("work", "place"),
    [
        (WorkSize(), Workplace.HERE),
        (WorkSize(answer_ns=5_000_000), Workplace.HERE),
        (WorkSize(answer_ns=5_000_001), Workplace.THREADS),
        (WorkSize(answer_ns=8_000_000_000), Workplace.THREADS),
        (WorkSize(answer_ns=8_000_000_001), Workplace.JOB),
        (WorkSize(answer_ns=10**13, is_one_task=True), Workplace.HERE),
        (scan_work(0, 0, is_sketched=False), Workplace.HERE),
        (scan_work(1, 0, is_sketched=False), Workplace.THREADS),
        (scan_work(40_000_000, 4_000_000, is_sketched=False), Workplace.THREADS),
        (scan_work(40_000_001, 0, is_sketched=False), Workplace.JOB),
        (scan_work(1, 4_000_001, is_sketched=False), Workplace.JOB),
        (scan_work(8_000_000, 0, is_sketched=True), Workplace.THREADS),
        (scan_work(8_000_001, 0, is_sketched=True), Workplace.JOB),
        (catalyst_work(100_000, 10**9), Workplace.HERE),
        (catalyst_work(100_001, 1), Workplace.JOB),
        (catalyst_work(None, 3_000_000), Workplace.HERE),
        (catalyst_work(None, 3_000_001), Workplace.JOB),
        (catalyst_work(None, None), Workplace.JOB),
    ],
)
def test_the_place_of_work(work: WorkSize, place: Workplace) -> None:
    assert workplace_of(work) is place


@pytest.mark.parametrize(
    ("cores", "most_rows"), [(1, 40_000_000), (2, 40_000_000), (8, 10_000_000), (80, 1_000_000)]
)
def test_jobs_with_more_cores_are_worth_it_for_less_work(cores: int, most_rows: int) -> None:
    assert workplace_of(WorkSize(scanned_rows=most_rows), cores) is Workplace.THREADS
    assert workplace_of(WorkSize(scanned_rows=most_rows + 1), cores) is Workplace.JOB
    assert workplace_of(WorkSize(partial_rows=100_000), cores) is Workplace.HERE


def test_every_measure_of_work_has_its_limits() -> None:
    assert set(LIMITS) == set(vars(WorkSize())) - {"is_one_task"}


@pytest.mark.parametrize("most", [1, 2, 9])
def test_results_come_in_the_order_of_the_loads(most: int) -> None:
    assert in_threads(abs, [-3, 1, -2], most) == [3, 1, 2]


def test_a_single_load_needs_no_thread() -> None:
    assert in_threads(lambda _: threading.current_thread(), [0], 4) == [threading.current_thread()]


def test_loads_are_balanced_without_losing_any() -> None:
    loads = balanced([7, 1, 1, 1, 5, 5], 3)
    assert sorted(place for load in loads for place in load) == list(range(6))
    assert sorted(sum([7, 1, 1, 1, 5, 5][place] for place in load) for load in loads) == [6, 7, 7]
    assert balanced([], 4) == []
