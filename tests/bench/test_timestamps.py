"""The study of timestamps, short: what the papers and their closed forms say comes out."""

from __future__ import annotations

import pytest
import timestamps


def test_bursts_wait_as_the_closed_form_says() -> None:
    rows = timestamps.study("bursts", 30_000)
    assert {row["rule"] for row in rows} == {"dfs", "bfs"}
    for row in rows:
        assert row["latency_s"] == pytest.approx(row["expected_s"], rel=1e-12)


def test_promises_shorten_the_wait_and_those_on_demand_end_it() -> None:
    runs = [run for run in timestamps.waiting(2_000) if run[0]["fast"] == 1000]
    assert [setting["variant"] for setting, _ in runs] == ["A", *"BBBBB", "C", "D"]
    none, ten, on_demand, latent = (runs[k][1]() for k in (0, 3, -2, -1))
    assert none.latency_s == pytest.approx(1 / (0.95 * 0.5), rel=0.25)
    assert ten.latency_s == pytest.approx(0.05, rel=0.1)  # half the time between two
    assert none.peak_items > 10 * ten.peak_items
    assert on_demand.latency_s == latent.latency_s == 0
    assert none.tuples > 30_000


def test_both_ways_of_promises_give_the_same_tuples_and_arcs_sooner() -> None:
    rows = timestamps.study("graphs", 10_000)
    for items, arcs in zip(rows[::2], rows[1::2], strict=True):
        assert items["filters"] == arcs["filters"]
        assert items["tuples"] == arcs["tuples"] >= 100
        assert arcs["latency_s"] <= items["latency_s"]
        assert arcs["steps"] < items["steps"]
