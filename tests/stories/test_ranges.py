"""Several lengths in one window: each is answered as a query of its own length would be.

[RANGE 2, 5 SLIDE 3]     0     3     6     9
of length 2              |--|  |--|  |--|
of length 5              |-----|---|         every 3, too
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.stories.oracle import Case, Term, batch_answers, random_cases
from tests.stories.streams import STREAM, cut, random_rows, table_of, write_files
from tidemill.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Ranges(Case):
    """A random query with further lengths of its window."""

    others_ms: tuple[int, ...] = ()

    def _window(self) -> str:
        others = "".join(f", {ms} ms" for ms in self.others_ms)
        return super()._window().replace(" ms SLIDE", f" ms{others} SLIDE")

    def of_each_length(self) -> list[Case]:
        return [replace(self, range_ms=ms, others_ms=()) for ms in (self.range_ms, *self.others_ms)]


def of_length(answers: pa.Table, case: Case) -> pa.Table:
    micros = [answers.column(name).cast(pa.int64()) for name in ("window_end", "window_start")]
    return answers.filter(pc.equal(pc.subtract(*micros), case.range_ms * 1000))


def with_ranges(rng: random.Random, case: Case) -> Ranges:
    lengths = [round(case.slide_ms * ratio) for ratio in rng.sample((0.5, 1, 1.4, 3, 4.2), 2)]
    fields = {name: getattr(case, name) for name in Case.__dataclass_fields__}
    return Ranges(**fields, others_ms=tuple(ms for ms in lengths if ms != case.range_ms))


@pytest.mark.parametrize(("seed", "sharing"), [(1, "auto"), (2, "none"), (3, "weave")])
def test_answers_equal_batch(spark: SparkSession, tmp_path: Path, seed: int, sharing: str) -> None:
    rng = random.Random(seed)
    rows = random_rows(rng, "disordered", 160)
    write_files(tmp_path / "in", cut(rows, 3))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    cases = [with_ranges(rng, case) for case in random_cases(rng, "s", 3, 2)]
    script = [STREAM, f"SET sharing = '{sharing}';", *(case.create("out") for case in cases)]
    with Engine(tmp_path / "home") as engine:
        engine.sql("\n".join(script), tmp_path)
        report = engine.run("flush")
        answers = {case.name: engine.query(case.name).answers().to_arrow() for case in cases}
    compared = [
        each.compare(of_length(answers[case.name], each), batch_answers(spark, each))
        for case in cases
        for each in case.of_each_length()
    ]
    assert sum(compared) == sum(report.queries.values())
    assert sum(compared) > 8 * len(cases)


BURSTS = Ranges(
    name="bursts",
    stream="s",
    range_ms=5_000,
    slide_ms=5_000,
    start_ms=0,
    keys=(Term("k"),),
    aggregates=(Term("COUNT(*)"),),
    where=None,
    having=None,
    descending=True,
    limit=1,
    others_ms=(60_000,),
)


@pytest.mark.parametrize("sink", ["json:lines", "memory:", "parquet:files"])
def test_every_sink_has_the_top_of_each_length(
    spark: SparkSession, tmp_path: Path, sink: str
) -> None:
    rows = random_rows(random.Random(5), "ordered", 80)
    write_files(tmp_path / "in", cut(rows, 2))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"{STREAM} CREATE SINK there TO '{sink}'; {BURSTS.create('there')}", tmp_path)
        delivered = engine.run("flush").queries["bursts"]
        if sink == "json:lines":
            lines = list(map(json.loads, (tmp_path / "lines").read_text().splitlines()))
            windows = {(line["window_start"], line["window_end"]) for line in lines}
            assert len(windows) == len(lines) == delivered > 20
            return
        answers = engine.query("bursts").answers().to_arrow()
    short, long = BURSTS.of_each_length()
    counts = [
        case.compare(of_length(answers, case), batch_answers(spark, case)) for case in (short, long)
    ]
    assert sum(counts) == delivered
    assert counts[1] > counts[0] > 5


def test_all_lengths_are_shown(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + BURSTS.create("out"), tmp_path)
        window = "[RANGE 5 SECONDS, 1 MINUTE SLIDE 5 SECONDS]"
        for question in ("SHOW QUERIES", "EXPLAIN PLAN QUERY bursts"):
            assert window in engine.sql(question)[0]
        assert "bursts (5 s, 1 min / 5 s)" in engine.sql("EXPLAIN SHARED ALL")[0]
        assert "RANGE 5 SECONDS, 1 MINUTE SLIDE 5 SECONDS" in engine.sql("DESCRIBE bursts")[0]
