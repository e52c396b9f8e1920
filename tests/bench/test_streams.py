"""The table of `bench streams`: both ways in turn, medians, and bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from _ratios import Bench, Figure, Ratio, Way, measure
from _streams import arrivals, computed, derived, replay, selections, unions

BENCH = Bench(Path(), rows=100)
PARTS = (arrivals, computed, derived, replay, selections, unions)


def way(calls: list[str], name: str, *amounts: float, result: object = "same") -> Way:
    remaining = iter(amounts)

    def run(bench: Bench) -> Figure:
        calls.append(name)
        return Figure(next(remaining), result)

    return run


def test_both_ways_run_in_turn_and_the_warm_up_does_not_count() -> None:
    calls: list[str] = []
    ratio = Ratio("r", "", 1.5, way(calls, "a", 99, 2, 9, 3), way(calls, "b", 1, 2, 2, 2))
    row = measure(ratio, BENCH, repeats=3)
    assert calls == ["a", "b"] * 4
    assert row.medians == (3, 2)
    assert (row.value, row.holds) == (1.5, True)


def test_a_bound_that_is_not_met_is_told() -> None:
    ratio = Ratio("r", "", 1.4, way([], "a", 1, 3), way([], "b", 1, 2))
    assert not measure(ratio, BENCH, repeats=1).holds


def test_ways_that_come_to_different_results_are_no_figures() -> None:
    ratio = Ratio("r", "", 2, way([], "a", 1, 1, result=7), way([], "b", 1, 1, result=8))
    with pytest.raises(SystemExit, match="r: the two sides differ"):
        measure(ratio, BENCH, repeats=1)


def test_every_row_of_the_table_has_a_name_of_its_own() -> None:
    names = [ratio.name for part in PARTS for ratio in part.RATIOS]
    assert len(names) == len(set(names)) >= 11


def test_each_query_stands_in_words_of_a_stream_and_of_the_source() -> None:
    both = [list(derived.queries(way, 20)) for way in ("source", "streams")]
    assert all("FROM packets [" in query for query in both[0])
    assert not any("FROM packets [" in query for query in both[1])
