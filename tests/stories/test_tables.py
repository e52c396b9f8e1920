"""Tables joined to a stream: answers equal Spark batch SQL with Spark's own joins.

Tables have NULL keys, keys that nothing of the stream has, and the other way round; with
duplicate keys a row counts several times, without them queries with and without the join
share one pass. What is read is what was there when the first query came.
"""

from __future__ import annotations

import itertools
import json
import random
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.stories.oracle import HAVINGS, Case, Term, batch_answers, compare_all
from tests.stories.streams import (
    COLUMNS,
    LATENESS_US,
    NOON_US,
    SECOND_US,
    STREAM,
    Row,
    cut,
    random_row,
    random_rows,
    table_of,
    write_files,
)
from tests.stories.test_crash import command
from tidemill.engine import Engine
from tidemill.errors import TidemillError
from tidemill.spark.jobs import LIMITS, Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWNERS = "ok STRING, owner STRING, weight INT"
GROUPS = "gg INT, label STRING, low INT"
LABELS = "lb STRING, rank BIGINT"
TABLES = f"""
CREATE TABLE owners ({OWNERS}) SOURCE 'csv:owners.csv?header=true&nullValue=NULL';
CREATE TABLE groups ({GROUPS}) SOURCE 'parquet:groups';
CREATE TABLE labels ({LABELS}) SOURCE 'json:labels.json';
"""
Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Joined(Case):
    """A random query with joins; batch SQL understands them as they are."""

    joins: str = ""

    def create(self, sink: str) -> str:
        window = f"[{self._window()}]"
        return super().create(sink).replace(window, f"{window} AS s {self.joins}")

    def batch(self) -> str:
        return (
            super().batch().replace(f"FROM {self.stream} ", f"FROM {self.stream} s {self.joins} ")
        )


OF_OWNERS = ("LEFT JOIN owners ON k = ok", "JOIN owners ON ok = s.k")
OF_GROUPS = (
    "LEFT JOIN groups AS gr ON g = gr.gg AND low < m",
    "JOIN groups ON gg = g",
    "LEFT JOIN groups ON gg = g LEFT JOIN labels l ON l.lb = label",
    "JOIN groups ON gg = g JOIN labels ON label = lb",
)
OF_BOTH = (
    "JOIN owners ON ok = k LEFT JOIN groups ON gg = g",
    "LEFT JOIN groups ON gg = g AND low > 0 JOIN owners ON LOWER(ok) = LOWER(k)",
    "LEFT JOIN owners ON COALESCE(k, 'b') = ok JOIN groups ON gg = weight",
)
OF_NONE = ("",)
TERMS = {
    OF_NONE: (("k",), ("COUNT(*)", "SUM(m)", "MAX(d)"), ("m > 30", "k = 'a'")),
    OF_OWNERS: (
        ("owner", "UPPER(owner)", "k", "weight + g"),
        ("COUNT(owner)", "SUM(weight)", "COUNT(*)", "MAX(owner)", "AVG(weight * g)"),
        ("weight > m", "owner IS NULL OR m > 30", "owner = 'p'", "m > 30"),
    ),
    OF_GROUPS: (
        ("label", "gg", "k"),
        ("COUNT(label)", "SUM(low)", "COUNT(*)", "MIN(label)"),
        ("low >= 0", "label LIKE 'x%'", "m > 30"),
    ),
    OF_BOTH: (
        ("owner", "label", "k"),
        ("COUNT(label)", "SUM(low + weight)", "COUNT(*)", "MAX(owner)"),
        ("low >= weight", "label = 'x' OR owner = 'p'", "m > 30"),
    ),
}


def random_joined(rng: random.Random, copies: int) -> Iterator[Joined]:
    """Every way to join, so many times, with terms over what it brings in."""
    number = itertools.count()
    for ways, (keys, values, conditions) in TERMS.items():
        for way in ways * copies:
            slide_ms = rng.choice((1000, 1500, 10_000, 60_000))
            yield Joined(
                name=f"q{next(number)}",
                stream="s",
                range_ms=round(slide_ms * rng.choice((1, 2, 2.5, 5))),
                slide_ms=slide_ms,
                start_ms=rng.choice((0, 300)),
                keys=tuple(map(Term, rng.sample(keys, rng.randrange(min(3, len(keys) + 1))))),
                aggregates=tuple(map(Term, rng.sample(values, 2))),
                where=rng.choice((None, *map(Term, conditions))),
                having=rng.choice((None, None, HAVINGS[0])),
                descending=rng.random() < 0.5,
                limit=rng.choice((None, None, 2)),
                joins=way,
            )


def owners(rng: random.Random, *, unique: bool) -> Rows:
    keys = ["a", "A", "b", "nobody", None, None]
    keys += [] if unique else ["a", "b", "b", "nobody"]
    return [(k, rng.choice(("p", "q", None)), rng.choice((-3, 1, 2, None))) for k in keys]


def groups(rng: random.Random, *, unique: bool) -> Rows:
    keys = [-3, -1, 0, 2, 99, None, None] + ([] if unique else [0, 0, 2])
    return [(g, rng.choice(("x", "xy", None)), rng.choice((-5, 0, 20, None))) for g in keys]


def labels(rng: random.Random, *, unique: bool) -> Rows:
    return [(lb, rng.randrange(9)) for lb in ["x", "z", None] + ([] if unique else ["x"])]


def write_owners(folder: Path, rows: Rows) -> None:
    lines = [",".join("NULL" if v is None else str(v) for v in row) for row in rows]
    (folder / "owners.csv").write_text("\n".join(["ok,owner,weight", *lines]) + "\n")


def write_tables(folder: Path, spark: SparkSession, rng: random.Random, *, unique: bool) -> None:
    """As files for the engine, and as views for batch SQL."""
    found = {
        "owners": (OWNERS, owners(rng, unique=unique)),
        "groups": (GROUPS, groups(rng, unique=unique)),
        "labels": (LABELS, labels(rng, unique=unique)),
    }
    for name, (schema, rows) in found.items():
        spark.createDataFrame(rows, schema).createOrReplaceTempView(name)
    write_owners(folder, found["owners"][1])
    (folder / "groups").mkdir()
    for part, rows in enumerate(cut_rows(found["groups"][1])):
        columns = [
            pa.array(c, t) for c, t in zip(zip(*rows, strict=True), GROUP_TYPES, strict=True)
        ]
        pq.write_table(pa.table(columns, ["gg", "label", "low"]), folder / f"groups/{part}.parquet")
    lines = [json.dumps({"lb": lb, "rank": rank}) for lb, rank in found["labels"][1]]
    (folder / "labels.json").write_text("\n".join(lines))


GROUP_TYPES = (pa.int32(), pa.string(), pa.int32())


def cut_rows(rows: Rows) -> tuple[Rows, Rows]:
    return rows[:2], rows[2:]


def answers_of(engine: Engine, cases: Sequence[Case]) -> dict[str, pa.Table]:
    return {case.name: engine.query(case.name).answers().to_arrow() for case in cases}


@pytest.mark.parametrize(
    ("seed", "unique", "sharing", "copies", "scan"),
    [
        (1, True, "auto", 2, "catalyst"),
        (2, False, "auto", 1, "auto"),
        (3, True, "none", 1, "auto"),
        (4, False, "shared", 1, "catalyst"),
    ],
)
def test_answers_equal_batch(
    spark: SparkSession,
    tmp_path: Path,
    seed: int,
    unique: bool,
    sharing: str,
    copies: int,
    scan: str,
) -> None:
    rng = random.Random(seed)
    rows = random_rows(rng, "disordered", 200)
    write_files(tmp_path / "in", cut(rows, 3))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    write_tables(tmp_path, spark, rng, unique=unique)
    cases = list(random_joined(rng, copies))
    modes = f"SET sharing = '{sharing}'; SET scan = '{scan}';"
    script = [STREAM, TABLES, modes, *(c.create("out") for c in cases)]
    with Engine(tmp_path / "home") as engine:
        engine.sql("\n".join(script), tmp_path)
        report = engine.run("flush")
        answers = answers_of(engine, cases)
    assert (report.rows_in, report.rows_late, report.rows_malformed) == (len(rows), 0, 0)
    compared = compare_all(spark, cases, answers)
    assert compared == sum(report.queries.values())
    assert compared > 10 * len(cases)


BY_OWNER = Joined(
    name="by_owner",
    stream="s",
    range_ms=10_000,
    slide_ms=5_000,
    start_ms=0,
    keys=(Term("owner"),),
    aggregates=(Term("COUNT(*)"), Term("SUM(weight)")),
    where=None,
    having=None,
    descending=False,
    limit=None,
    joins="LEFT JOIN owners ON ok = k",
)
BY_KEY = replace(BY_OWNER, name="by_key", keys=(Term("k"),), aggregates=(Term("SUM(m)"),), joins="")


def rows_of(seconds: range) -> list[Row]:
    rng = random.Random(seconds.start)
    return [random_row(rng, NOON_US + n * SECOND_US) for n in seconds]


def see_owners(spark: SparkSession, folder: Path, rows: Rows) -> None:
    """In the file for the engine, and in the view for batch SQL."""
    write_owners(folder, rows)
    spark.createDataFrame(rows, OWNERS).createOrReplaceTempView("owners")


EITHER = ("LEFT JOIN owners ON ok = k", "LEFT JOIN groups ON gg = weight")
EIGHT = tuple(
    replace(
        BY_OWNER,
        name=f"q{number}",
        range_ms=1000 * seconds,
        keys=tuple(map(Term, keys)),
        aggregates=tuple(map(Term, aggregates)),
        where=Term(where) if where else None,
        joins=joins,
    )
    for number, (seconds, keys, aggregates, where, joins) in enumerate(
        (
            (10, ("owner",), ("COUNT(*)", "SUM(weight)"), "", "LEFT JOIN owners ON ok = k"),
            (20, ("k", "owner"), ("MAX(m)", "COUNT(owner)"), "", "JOIN owners ON ok = k"),
            (10, ("g",), ("SUM(weight)", "AVG(m)"), "owner = 'p'", "JOIN owners ON ok = k"),
            (15, ("label",), ("COUNT(*)", "SUM(low)"), "", "JOIN groups ON gg = g"),
            (10, ("label", "k"), ("COUNT(*)", "MIN(low)"), "", "LEFT JOIN groups ON gg = g"),
            (10, ("k",), ("COUNT(label)", "SUM(m)"), "low >= 0", "JOIN groups ON gg = g"),
            (10, ("owner",), ("SUM(low)", "MAX(weight)"), "weight > 0", " ".join(EITHER)),
            (30, ("owner", "label"), ("COUNT(*)",), "", " ".join(EITHER)),
        )
    )
)


@pytest.mark.parametrize(
    ("route", "tables"),
    [("threads", "empty"), ("tasks", "full"), ("catalyst", "full"), ("catalyst", "empty")],
)
def test_eight_queries_over_two_tables_are_one_pass(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, route: str, tables: str
) -> None:
    """One table has unique keys, the other has not; both have NULLs, and keys that nobody has."""
    rng = random.Random(8)
    write_tables(tmp_path, spark, rng, unique=False)
    see_owners(spark, tmp_path, owners(rng, unique=True) if tables == "full" else [])
    rows = rows_of(range(90))
    write_files(tmp_path / "in", cut(rows, 3))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    if route == "tasks":
        monkeypatch.setitem(LIMITS, "scanned_rows", Limits(0, 0))
    with Engine(tmp_path / "home") as engine:
        modes = f"SET scan = '{'catalyst' if route == 'catalyst' else 'auto'}';"
        engine.sql(STREAM + TABLES + modes + "".join(c.create("out") for c in EIGHT), tmp_path)
        (shared,) = engine.sql("EXPLAIN SHARED ALL")
        report = engine.run("flush")
        answers = answers_of(engine, EIGHT)
    assert "1 pass over the rows" in shared
    assert set(report.routes) == {"catalyst" if route == "catalyst" else "columnar"}
    assert (report.rows_in, report.rows_late, report.rows_malformed) == (len(rows), 0, 0)
    assert compare_all(spark, EIGHT, answers) == sum(report.queries.values())
    # Two windows of ten seconds have each row; a row has several groups, or none.
    pairs = pc.sum(answers["q4"].column("a0")).as_py()
    assert pairs > 2 * len(rows)
    alone = answers["q0"].filter(pc.is_null(answers["q0"].column("k0")))
    assert 0 < pc.sum(alone.column("a0")).as_py() <= 2 * len(rows)
    assert (len(answers["q1"]) > 0) == (tables == "full")


@pytest.mark.parametrize("scan", ["auto", "catalyst"])
def test_rows_are_counted_once_though_they_have_several_partners(
    spark: SparkSession, tmp_path: Path, scan: str
) -> None:
    """All queries multiply: Catalyst has a feed that only counts, in the same pass."""
    see_owners(spark, tmp_path, [("a", "p", 1), ("a", "q", 2), ("b", "p", 3), ("b", "q", 4)])
    first, second = rows_of(range(60)), rows_of(range(60, 90))
    late = [random_row(random.Random(1), NOON_US)] * 2
    write_files(tmp_path / "in", [first, second + late])
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"{STREAM} {TABLES} SET scan = '{scan}'; {BY_OWNER.create('out')}", tmp_path)
        report = engine.run("flush")
        answers = answers_of(engine, [BY_OWNER])
    assert set(report.routes) == {"columnar" if scan == "auto" else "catalyst"}
    assert (report.rows_in, report.rows_late) == (92, 2)
    assert LATENESS_US < 60 * SECOND_US
    spark.createDataFrame(table_of(first + second)).createOrReplaceTempView("s")
    assert BY_OWNER.compare(answers["by_owner"], batch_answers(spark, BY_OWNER)) > 20


def test_queries_with_and_without_a_table_of_unique_keys_share(
    spark: SparkSession, tmp_path: Path
) -> None:
    see_owners(spark, tmp_path, [("a", "p", 1), ("b", "q", 3), (None, "q", 4), (None, "p", 4)])
    rows = rows_of(range(60))
    write_files(tmp_path / "in", cut(rows, 2))
    with_table = replace(BY_OWNER, keys=BY_KEY.keys, joins="JOIN owners ON ok = k")
    cases = [BY_KEY, with_table, replace(BY_OWNER, name="left_over", keys=BY_KEY.keys)]
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + TABLES + "".join(c.create("out") for c in cases), tmp_path)
        assert len(engine.plan.synopses) == 1
        engine.run("flush")
        answers = answers_of(engine, cases)
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    for case in cases:
        assert case.compare(answers[case.name], batch_answers(spark, case)) > 20


def test_a_table_is_as_it_was_when_the_first_query_came(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Another file takes its place: nothing changes until no query joins the table any more."""
    before, after = [("a", "p", 1), ("b", "q", 3)], [("a", "r", 5), ("b", "r", 5), ("c", "r", 5)]
    first, second, third = rows_of(range(40)), rows_of(range(40, 80)), rows_of(range(85, 125))
    write_files(tmp_path / "in", [first])
    see_owners(spark, tmp_path, before)
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + TABLES + BY_OWNER.create("out") + BY_KEY.create("out"), tmp_path)
        engine.run("idle")
    write_owners(tmp_path, after)
    write_files(tmp_path / "in", [second], first=1)
    later = replace(BY_OWNER, name="later", joins="JOIN owners ON ok = k")
    with Engine(tmp_path / "home") as engine:
        engine.sql(later.create("out"), tmp_path)
        engine.run("flush")
        kept = list((tmp_path / "home" / "tables" / "owners").iterdir())
        spark.createDataFrame(table_of(first + second)).createOrReplaceTempView("s")
        assert (
            BY_OWNER.compare(answers_of(engine, [BY_OWNER])["by_owner"], batch(spark, BY_OWNER))
            > 20
        )
        assert later.compare(answers_of(engine, [later])["later"], batch(spark, later, 40)) > 10
        engine.sql("DROP QUERY by_owner; DROP QUERY later;")
        assert len(kept) == 1
        assert not kept[0].exists()

    see_owners(spark, tmp_path, after)
    write_files(tmp_path / "in", [third], first=2)
    anew = replace(BY_OWNER, name="anew")
    with Engine(tmp_path / "home") as engine:
        engine.sql(anew.create("out"), tmp_path)
        engine.run("flush")
        spark.createDataFrame(table_of(first + second + third)).createOrReplaceTempView("s")
        found = answers_of(engine, [anew])["anew"]
        assert anew.compare(found, batch(spark, anew, 80)) > 5
    assert set(found.column("k0").to_pylist()) == {"r", None}


def batch(spark: SparkSession, case: Case, from_second: int = -10) -> pa.Table:
    """From the first window that starts at or after so many seconds."""
    whole = batch_answers(spark, case)
    return whole.filter(pc.greater_equal(whole.column("s"), NOON_US + from_second * SECOND_US))


def test_what_raises_in_a_condition_finds_no_partner_and_is_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    see_owners(spark, tmp_path, [("1", "p", 1), ("2", "q", 3)])
    times = [NOON_US + n * SECOND_US for n in range(4)]
    names, numbers = ["1", "x", None, "2"], [1, 0, 1, 2]
    rows = [
        random_row(random.Random(1), t) | {"name": name, "g": g, "m": 2}
        for t, name, g in zip(times, names, numbers, strict=True)
    ]
    write_files(tmp_path / "in", [rows])
    select = "SELECT owner, COUNT(*) AS n FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE]"
    script = f"""
    CREATE QUERY a INTO out AS {select} JOIN owners ON CAST(name AS INT) = weight GROUP BY owner;
    CREATE QUERY b INTO out AS {select} LEFT JOIN owners ON m / g = weight GROUP BY owner;
    CREATE QUERY c INTO out AS {select} JOIN owners
      ON REGEXP_EXTRACT(name, '([0-9])', m) = ok GROUP BY owner;
    """
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + TABLES + script, tmp_path)
        report = engine.run("flush")
        found = {
            name: {
                row["owner"]: row["n"]
                for row in engine.query(name).answers().to_arrow().to_pylist()
            }
            for name in "abc"
        }
    assert found == {"a": {"p": 1}, "b": {"p": 1, None: 3}, "c": {}}
    # 'x' is no number; 2 / 0; where there is a digit, there is still no second group.
    assert report.raised == {"a": 1, "b": 1, "c": 2}


def test_a_column_of_any_type_finds_its_partners(spark: SparkSession, tmp_path: Path) -> None:
    """The table holds rows of the stream itself, which its file must keep to the last bit."""
    rows = rows_of(range(60))
    write_files(tmp_path / "in", cut(rows, 2))
    some = table_of(rows[::4])
    again = some.rename_columns([f"r_{name}" for name in some.column_names])
    pq.write_table(again, tmp_path / "again.parquet")
    spark.createDataFrame(again).createOrReplaceTempView("again")
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    columns = ", ".join(f"r_{column.strip()}" for column in COLUMNS.split(", "))
    script = f"CREATE TABLE again ({columns}) SOURCE 'parquet:again.parquet';"
    cases = [
        replace(
            BY_OWNER,
            name=f"by_{name}",
            keys=(Term(f"r_{name}"),),
            aggregates=(Term("COUNT(*)"), Term(f"MAX(r_{other})")),
            joins=f"JOIN again ON r_{name} = {name} AND r_ts <= ts",
        )
        for name, other in itertools.pairwise(("b", "n", "x", "d", "day", "at", "f"))
    ]
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + script + "".join(case.create("out") for case in cases), tmp_path)
        engine.run("flush")
        answers = answers_of(engine, cases)
    for case in cases:
        assert case.compare(answers[case.name], batch_answers(spark, case)) > 0
    assert sum(map(len, answers.values())) > 50


def test_a_killed_run_goes_on_with_the_rows_it_had(spark: SparkSession, tmp_path: Path) -> None:
    """It dies before a fold, which is then done again; meanwhile the file has turned to rubbish."""
    parts = cut(rows_of(range(80)), 4)
    write_files(tmp_path / "in", parts)
    see_owners(spark, tmp_path, [("a", "p", 1), ("b", "q", 3), ("b", "r", 3)])
    script = tmp_path / "script.sql"
    script.write_text(STREAM + TABLES + BY_OWNER.create("out") + BY_KEY.create("out"))
    home = ("--home", str(tmp_path / "home"))
    process = command(script, "--flush", *home, failpoint="partials:2")
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    (tmp_path / "owners.csv").write_text("rubbish\n")
    with Engine(tmp_path / "home") as engine:
        engine.sql(script.read_text(), tmp_path)
        engine.run("flush")
        answers = answers_of(engine, [BY_OWNER, BY_KEY])
    spark.createDataFrame(table_of(rows_of(range(80)))).createOrReplaceTempView("s")
    for case in (BY_OWNER, BY_KEY):
        assert case.compare(answers[case.name], batch_answers(spark, case)) > 20


@pytest.mark.usefixtures("spark")
def test_spark_broadcasts_a_table_before_and_after_it_is_kept(tmp_path: Path) -> None:
    write_files(tmp_path / "in", [rows_of(range(5))])
    write_owners(tmp_path, [("a", "p", 1)])
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + TABLES, tmp_path)
        select = BY_OWNER.create("out").partition(" AS ")[2]
        (before,) = engine.sql(f"EXPLAIN SPARK {select}")
        engine.sql(BY_OWNER.create("out"))
        (after,) = engine.sql("EXPLAIN SPARK ALL")
        (shown,) = engine.sql("SHOW QUERIES")
    assert "BroadcastHashJoin LeftOuter" in before
    assert "BroadcastHashJoin LeftOuter" in after
    assert "tables/owners" in after
    assert "s, owners" in shown


WRONG = {
    "missing file": ("csv:gone.csv", "k STRING", "which does not exist", "paths are relative"),
    "nothing there": ("csv:empty", "k STRING", "nothing to read", ""),
    "missing column": ("parquet:t.parquet", "k STRING, z INT", "'z', which its files lack", "k, v"),
    "wrong type": ("parquet:t.parquet", "k STRING, v DATE", "declares v as DATE", "t.parquet"),
    "not parquet": ("parquet:t.csv", "k STRING", "cannot be read as its columns", "t.csv"),
    "bad value": ("csv:t.csv?header=true", "k STRING, v INT", "does not parse", "t.csv\nb,two"),
    "bad header": ("csv:t.csv?header=true", "k STRING, w INT", "cannot be read", "t.csv"),
    "too few": ("csv:t.csv", "k STRING, v STRING, w INT", "does not parse", "t.csv\nk,v"),
    "bad line": ("json:t.json", "k STRING, v INT", "does not parse", 't.json\n{"k": "b", "v": 2'),
    "missing field": ("json:t.json", "k STRING, vee INT", "'vee', which its files lack", "k, v"),
}


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("source", "columns", "words", "more"), WRONG.values(), ids=WRONG.keys())
def test_a_table_that_does_not_fit_is_refused(
    tmp_path: Path, source: str, columns: str, words: str, more: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "empty").mkdir()
    pq.write_table(pa.table({"k": ["a"], "v": pa.array([1], pa.int32())}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("k,v\na,1\nb,two\n")
    (tmp_path / "t.json").write_text('{"k": "a", "v": 1}\n{"k": "b", "v": 2\n')
    script = f"""CREATE TABLE t ({columns}) SOURCE '{source}';
    CREATE QUERY q INTO out AS SELECT COUNT(*) AS n
      FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] JOIN t ON t.k = s.k;"""
    with Engine(tmp_path / "home") as engine, pytest.raises(TidemillError) as caught:
        engine.sql(STREAM + script, tmp_path)
    problem = caught.value.problem
    assert problem.code == "E_SOURCE"
    assert words in problem.primary
    assert more in problem.detail + problem.hint
    assert problem.place is not None
    assert problem.text[problem.place.start :].startswith("t ON")
    assert not (tmp_path / "home").exists()
