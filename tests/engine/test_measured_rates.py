"""A run whose rows come slower and faster: plans are those of the rate, and come back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill import Engine
from tidemill.engine import TickReport
from tidemill.engine.register import turns
from tidemill.engine.register.turns import GROUPED_AT_ONCE

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


class HeldBack(Executor):
    """Work that is begun and not done until somebody says so."""

    def __init__(self) -> None:
        self.begun: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = []

    def submit(self, work: Callable[..., Any], /, *given: Any, **_: Any) -> Future[Any]:
        self.begun.append((Future(), work, given))
        return self.begun[-1][0]

    @property
    def waiting(self) -> int:
        return sum(not future.done() for future, *_ in self.begun)

    def carry_out(self) -> None:
        for future, work, given in self.begun:
            if not future.done():
                future.set_result(work(*given))


def test_many_queries_are_regrouped_beside_the_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ticks go on under the plan that stands; groups for one that has changed are made again."""
    held, copies = HeldBack(), GROUPED_AT_ONCE // len(WINDOWS) + 1
    monkeypatch.setattr(turns, "ThreadPoolExecutor", lambda *_: held)
    write_files(tmp_path, RATES)
    crowd = [
        f"CREATE QUERY q{place}_{copy} AS SELECT COUNT(*) AS c FROM s [RANGE {r} s SLIDE {s} s];"
        for place, (r, s) in enumerate(WINDOWS)
        for copy in range(copies)
    ]
    groups: list[int] = []
    waited: list[int] = []
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT.format("weave").partition("CREATE QUERY")[0], tmp_path)
        engine.sql("".join(crowd))

        def note(_: TickReport) -> None:
            groups.append(len(groups_of(engine)))
            waited.append(held.waiting)
            # At its end a run waits for groups that are being made.
            if waited[-3:] == [1, 1, 1] or len(waited) >= len(RATES):
                held.carry_out()
            elif waited[-2:] == [1, 1] and len(held.begun) == 1:
                engine.sql(
                    "CREATE QUERY late AS SELECT COUNT(*) AS c FROM s [RANGE 50 s SLIDE 7 s];"
                )

        engine.run("flush", note)
        answers = {query.name: engine.query(query.name).answers() for query in engine.plan.queries}
    changes = [number for number, (a, b) in enumerate(pairwise(groups), 1) if a != b]
    assert len(changes) > 1
    assert all(waited[change - 3 : change] == [1, 1, 1] for change in changes)
    assert len(held.begun) > len(changes)
    (tmp_path / "few").mkdir()
    wanted = run(tmp_path / "few", RATES, "none")[1]
    for place in range(len(WINDOWS)):
        for copy in range(copies):
            assert answers[f"q{place}_{copy}"].to_arrow() == wanted[f"q{place}"]
    assert 0 < len(answers["late"]) < len(answers["q0_0"])
