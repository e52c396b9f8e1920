"""A SELECT by itself, after every tick and beside a run, against Spark batch SQL."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.stories.oracle import interpreted, plain_values
from tests.stories.soft import STREAM, soft_cases
from tests.stories.streams import SECOND_US, write_files
from tests.stories.test_soft import FILES, LiveRun, rows_of, show_accepted
from tidemill.engine import Engine
from tidemill.errors import TidemillError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Of the first two there are standing queries; groups of these are put together for the others.
KEYS = ("g, b", "g", "b", "")
STANDING = KEYS[:2]
AGGREGATES = ("COUNT(*)", "SUM(m)", "MAX(n)", "COUNT(DISTINCT m)", "MIN(d)")  # the last is not kept
# Nobody asks for the last two.
CONDITIONS = ("", "m > 0", "m > 0 AND g = 1", "m > 5")
WINDOWS_S = ((3, 0), (10, 0), (20, 0), (25, 0), (10, 2), (6, 3), (4, 1), (20, 1), (8, 4))


@dataclass(frozen=True)
class OneTime:
    keys: str
    aggregate: str
    condition: str
    range_s: int
    slide_s: int  # 0: the newest window alone

    @property
    def sql(self) -> str:
        columns = ", ".join([*self.names, f"{self.aggregate} AS a"])
        slide = f" SLIDE {self.slide_s} SECONDS" if self.slide_s else ""
        where = f" WHERE {self.condition}" if self.condition else ""
        group = f" GROUP BY {self.keys}" if self.keys else ""
        return f"SELECT {columns} FROM s [RANGE {self.range_s} SECONDS{slide}]{where}{group};"

    @property
    def names(self) -> list[str]:
        return self.keys.split(", ") if self.keys else []

    @property
    def batch(self) -> str:
        window = f"window(ts, '{self.range_s} seconds', '{self.slide_s or 1} seconds')"
        columns = ["UNIX_MICROS(window.start) AS s", *self.names, f"{self.aggregate} AS a"]
        where = f" WHERE {self.condition}" if self.condition else ""
        group = ", ".join([window, *self.names])
        return f"SELECT {', '.join(columns)} FROM s{where} GROUP BY {group}"

    def last_start_us(self, watermark_us: int) -> int:
        slide_us, range_us = (self.slide_s or 1) * SECOND_US, self.range_s * SECOND_US
        return (watermark_us - range_us) // slide_us * slide_us


@dataclass(frozen=True)
class Asked:
    question: OneTime
    watermark_us: int
    reply: str


def standing() -> list[str]:
    """For each of the keys a soft query of all rows, and a strict one of some of them."""
    totals = "COUNT(*) AS c, SUM(m) AS t, MAX(n) AS x, COUNT(DISTINCT m) AS d"
    found = []
    for number, keys in enumerate(STANDING):
        found += [
            f"CREATE QUERY soft{number} INTO out AS SELECT {keys}, {totals} FROM s"
            f" [RANGE 20 SECONDS SLIDE UP TO 5 SECONDS] GROUP BY {keys};",
            f"CREATE QUERY strict{number} INTO out AS SELECT {keys}, {totals} FROM s"
            f" [RANGE 10 SECONDS SLIDE 2 SECONDS] WHERE m > 0 GROUP BY {keys};",
        ]
    return found


def questions(seed: int, count: int) -> list[OneTime]:
    rng = random.Random(seed)
    return [
        OneTime(rng.choice(KEYS), rng.choice(AGGREGATES), rng.choice(CONDITIONS), *window)
        for window in rng.choices(WINDOWS_S, k=count)
    ]


def answered(engine: Engine, question: OneTime) -> str | None:
    try:
        return engine.sql(question.sql)[0]
    except TidemillError as error:
        if error.code != "E_NOT_HELD":
            raise
        return None


def test_after_every_tick_a_select_equals_batch_sql(spark: SparkSession, tmp_path: Path) -> None:
    parts, asked, refused = rows_of(8), list[Asked](), list[OneTime]()
    (tmp_path / "in").mkdir()
    with Engine(tmp_path / "home") as engine:
        engine.sql("\n".join([STREAM, *standing()]), tmp_path)
        for number, part in enumerate(parts):
            write_files(tmp_path / "in", [part], number)
            assert engine.run("idle").rows_late == 0
            for question in questions(number, 30):
                reply = answered(engine, question)
                if reply is None:
                    refused.append(question)
                else:
                    asked.append(Asked(question, part[-1]["ts"] - SECOND_US, reply))
    show_accepted(spark, parts)
    windows = check(spark, asked)
    assert windows > 2 * len(asked) > 100
    assert {q.slide_s > 0 for q in refused} == {True, False}
    assert {a.question.slide_s > 0 for a in asked} == {True, False}
    assert {a.question.condition for a in asked} == {"", "m > 0"}
    assert {a.question.keys for a in asked} == {*KEYS}
    assert {a.question.aggregate for a in asked} == {*AGGREGATES[:-1]}
    # What is neither kept nor told apart is refused, and so is what began too long ago.
    assert {"m > 5", "m > 0 AND g = 1"} <= {q.condition for q in refused}
    assert all(a.question.range_s <= 20 for a in asked)


def test_selects_beside_a_run_of_many_soft_queries(spark: SparkSession, tmp_path: Path) -> None:
    parts, cases = rows_of(9), random.Random(3).sample(soft_cases(3), 60)
    coming: list[tuple[OneTime, Future[list[str]]]] = []
    (tmp_path / "in").mkdir()
    mine = [q for q in questions(4, 400) if not q.slide_s and q.range_s < 20 and not q.condition]

    def ask(engine: Engine) -> None:
        some = mine[len(coming) : len(coming) + 3]
        coming.extend((question, pool.submit(engine.sql, question.sql)) for question in some)

    def change(engine: Engine) -> None:
        """Those that wait are answered before the plan is another."""
        ask(engine)
        engine.sql(f"DROP QUERY {cases[0].name};")

    with Engine(tmp_path / "home") as engine, ThreadPoolExecutor(8) as pool:
        script = [STREAM, *standing(), *(case.create() for case in cases)]
        engine.sql("\n".join(script), tmp_path)
        changes: dict[int, Callable[[Engine], None]] = dict.fromkeys(range(8, FILES), ask)
        changes[FILES // 2 + 3] = change
        LiveRun(engine, tmp_path, parts, changes).go()
    show_accepted(spark, parts)
    # Of a run it is not known at which update a SELECT was answered, but its window tells.
    told = [(q, f.result()[0]) for q, f in coming if f.exception() is None]
    refusals = {e.code for _, f in coming if isinstance(e := f.exception(), TidemillError)}
    assert refusals <= {"E_NOT_HELD"}
    asked = [Asked(q, end_us(reply), reply) for q, reply in told if reply != "no rows"]
    assert check(spark, asked) == len(asked) >= 5
    assert len({one.watermark_us for one in asked}) > 1


def check(spark: SparkSession, asked: Sequence[Asked]) -> int:
    """Every answer has all groups of its windows, with the right values; how many windows."""
    batches = {}
    with interpreted(spark):
        for question in {one.question for one in asked}:
            rows = spark.sql(question.batch).toArrow()
            batches[question] = list(zip(*map(plain_values, rows.columns), strict=True))
    return sum(_check(one, batches[one.question]) for one in asked)


def _check(asked: Asked, batch: list[tuple[Any, ...]]) -> int:
    found, question = parsed(asked.reply), asked.question
    starts = {row[0] for row in found}
    last_us = question.last_start_us(asked.watermark_us)
    first_us = min(starts, default=last_us)
    assert found == sorted((r for r in batch if first_us <= r[0] <= last_us), key=repr), (
        question.sql
    )
    assert question.slide_s or first_us == last_us
    return len(starts)


def parsed(reply: str) -> list[tuple[Any, ...]]:
    """The rows of the table without the ends of windows."""
    rows = (re.split(r"\s{2,}", line) for line in reply.splitlines()[2:])
    return sorted(((micros(start), *map(value, rest)) for start, _, *rest in rows), key=repr)


def end_us(reply: str) -> int:
    return micros(re.split(r"\s{2,}", reply.splitlines()[2])[1])


def micros(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND_US


def value(text: str) -> Any:
    known = {"NULL": None, "True": True, "False": False}
    if text in known:
        return known[text]
    return Decimal(text) if "." in text else int(text)


def test_what_is_said_when_nothing_is_held(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with Engine(tmp_path / "home") as engine:
        engine.sql("\n".join([STREAM, *standing()]), tmp_path)
        with pytest.raises(TidemillError, match="has had no rows yet"):
            engine.sql("SELECT COUNT(*) FROM s [RANGE 5 SECONDS];")
        with pytest.raises(TidemillError) as told:
            engine.sql(
                "CREATE SINK other TO 'discard:';"
                "SELECT k, MIN(n) FROM s [RANGE 5 SECONDS] GROUP BY k;"
            )
        assert "other group keys" in told.value.problem.detail
        assert told.value.problem.place is not None
        # Nothing of the script took effect.
        assert "other" not in engine.sql("SHOW SINKS;")[0]


def test_a_script_with_a_select_can_be_explained(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    ask = "SELECT g, COUNT(*) AS c FROM s [RANGE 3 SECONDS] GROUP BY g;"
    with Engine(tmp_path / "home") as engine:
        (page,) = engine.explain(f"{STREAM} {ask}", tmp_path)
    assert "aggregate" in page


def test_what_the_script_itself_declares_is_not_held(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_files(tmp_path / "in", rows_of(1)[:2])
    ask = "SELECT g, COUNT(*) AS c FROM s [RANGE 3 SECONDS] GROUP BY g;"
    with Engine(tmp_path / "home") as engine:
        engine.sql("\n".join([STREAM, *standing()]), tmp_path)
        engine.run("idle")
        assert engine.sql(ask)[0] != "no rows"
        # The last queries go, and the stream with them.
        drops = [f"DROP QUERY {name};" for name in engine.queries]
        anew = "CREATE STREAM s (ts TIMESTAMP, g STRING) ORDER BY ts SOURCE 'parquet:in';"
        with pytest.raises(TidemillError, match="as this script declares it"):
            engine.sql("".join([*drops, "DROP STREAM s;", anew, ask]), tmp_path)
        assert engine.sql(ask)[0] != "no rows"
        engine.sql("".join(drops))
        assert engine.queries == {}
        with pytest.raises(TidemillError, match="nothing that is held"):
            engine.sql(ask)
        engine.sql(standing()[1].replace("strict0", "again"))
        write_files(tmp_path / "in", rows_of(1)[2:4], 2)
        assert engine.run("flush").queries["again"] > 0


@pytest.mark.usefixtures("spark")
def test_a_table_that_the_script_declares_is_not_held(tmp_path: Path) -> None:
    for folder, label in (("in", ""), ("old", "old"), ("new", "new")):
        (tmp_path / folder).mkdir()
        if label:
            (tmp_path / folder / "t.csv").write_text(f"1,{label}\n2,{label}\n")
    write_files(tmp_path / "in", rows_of(1)[:2])
    table = "CREATE OR REPLACE TABLE t (id INT, label STRING) SOURCE 'csv:old';"
    select = "SELECT label, COUNT(*) AS c FROM s [RANGE 3 SECONDS] LEFT JOIN t ON g = id"
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"{STREAM} {table} CREATE QUERY q AS {select} GROUP BY label;", tmp_path)
        engine.run("idle")
        assert "old" in engine.sql(f"{select} GROUP BY label;")[0]
        with pytest.raises(TidemillError, match="table t as this script declares it"):
            engine.sql(
                f"DROP QUERY q; {table.replace('old', 'new')} {select} GROUP BY label;", tmp_path
            )
