"""A run whose rows come slower and faster: plans are those of the rate, and come back."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidemill import Engine
from tidemill.engine import TickReport

SECOND_US = 1_000_000
WINDOWS = ((50, 7), (90, 11), (99, 13), (70, 10), (39, 3))
SCRIPT = (
    "SET tick_files = 1; SET sharing = '{}';"
    "CREATE STREAM s (ts TIMESTAMP, n BIGINT) ORDER BY ts SOURCE 'parquet:in';"
    + "".join(
        f"CREATE QUERY q{place} AS SELECT COUNT(*) AS c FROM s [RANGE {r} s SLIDE {s} s];"
        for place, (r, s) in enumerate(WINDOWS)
    )
)
# Of files of a minute each: it takes a while for a smoothed rate to leave its range.
RATES = [2] * 2 + [400] * 2 + [2] * 20
Groups = frozenset[frozenset[str]]


def write_files(folder: Path, rates: list[int]) -> None:
    (folder / "in").mkdir()
    for number, rate in enumerate(rates):
        times = number * 60 * SECOND_US + np.arange(60 * rate) * SECOND_US // rate
        stamps = pa.array(times).cast(pa.timestamp("us", tz="UTC"))
        rows = pa.table({"ts": stamps, "n": np.arange(len(times))})
        pq.write_table(rows, folder / "in" / f"{number:02}.parquet")


def groups_of(engine: Engine) -> Groups:
    by_synopsis: dict[str, set[str]] = {}
    for name, stints in engine.plan.stints.items():
        by_synopsis.setdefault(stints[-1].synopsis_id, set()).add(name)
    return frozenset(map(frozenset, by_synopsis.values()))


def run(folder: Path, rates: list[int], sharing: str) -> tuple[list[Groups], dict[str, pa.Table]]:
    """The groups after each tick, and the answers."""
    write_files(folder, rates)
    groups: list[Groups] = []
    with Engine(folder / "home") as engine:
        engine.sql(SCRIPT.format(sharing), folder)

        def note(_: TickReport) -> None:
            groups.append(groups_of(engine))

        engine.run("flush", note)
        names = [query.name for query in engine.plan.queries]
        return groups, {name: engine.query(name).answers().to_arrow() for name in names}


def test_a_change_of_range_moves_the_plan_and_coming_back_restores_it(tmp_path: Path) -> None:
    for sharing in ("weave", "none"):
        (tmp_path / sharing).mkdir()
    groups, answers = run(tmp_path / "weave", RATES, "weave")
    turns = [after for before, after in pairwise(groups) if before != after]
    calm = groups[2]
    assert len(calm) > 1
    assert [len(turn) for turn in turns[-2:]] == [1, len(calm)]
    assert groups[-1] == calm
    alone, wanted = run(tmp_path / "none", RATES, "none")
    assert {len(each) for each in alone} == {len(WINDOWS)}
    assert answers == wanted
    assert min(map(len, answers.values())) > 80


def test_a_stream_that_is_dropped_in_a_run_is_followed_no_longer(tmp_path: Path) -> None:
    write_files(tmp_path, [5, 5, 5])
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT.format("auto"), tmp_path)
        second = SCRIPT.format("auto").replace("STREAM s", "STREAM t").replace("FROM s", "FROM t")
        engine.sql(second.replace("QUERY q", "QUERY r"), tmp_path)
        drops = "".join(f"DROP QUERY r{place};" for place in range(len(WINDOWS)))
        ticks: list[str] = []

        def drop(tick: TickReport) -> None:
            ticks.append(tick.stream)
            if ticks == ["s", "t", "s"]:
                engine.sql(drops + "DROP STREAM t;")

        engine.run("idle", drop)
        assert ticks == ["s", "t", "s", "s"]
        assert [stream.written for stream in engine.plan.rates] == ["s"]
