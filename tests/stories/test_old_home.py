"""A home from before the folders moved: it opens, ends the tick that was cut off, and goes on.

    old code    ticks 1 … n, tick n + 1 killed after its decision
    this code   opens, ends tick n + 1, takes two more files of each stream, closes every window

Answers of both together equal Spark batch SQL, each of them once. The comparison cannot see what
was never asked for: settings other than the defaults, and kinds of sources not in the script.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.stories.old_home import words
from tests.stories.old_home.make import CASES, FOLDER, OWNERS, SOFT, script_text
from tests.stories.oracle import compare_all, interpreted
from tests.stories.soft import answers_of, batches, check
from tidemill.engine import Engine
from tidemill.errors import TidemillError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARCHIVE = Path(__file__).parent / "old_home" / "home.tar.gz"
WORDS = ARCHIVE.with_name("words.tar.gz")


def restore(folder: Path, packed: Path = ARCHIVE) -> Path:
    """Unpack the home; everything lies in this folder now."""
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    home = folder / "home"
    with closing(sqlite3.connect(home / "tidemill.db")) as database:
        dump = (home / "tidemill.sql").read_text(encoding="utf-8")
        database.executescript(dump.replace(FOLDER, str(folder)))
    return home


def add_later_files(folder: Path) -> None:
    for path in sorted((folder / "later").glob("*/*")):
        shutil.move(path, folder / path.relative_to(folder / "later"))


def show_input(spark: SparkSession, folder: Path) -> None:
    spark.read.parquet(str(folder / "in")).createOrReplaceTempView("s")
    texts = spark.read.csv(str(folder / "texts"), "ts TIMESTAMP, k STRING, m INT", header=True)
    texts.createOrReplaceTempView("t")
    owners = [line.split(",") for line in OWNERS.splitlines()[1:]]
    spark.createDataFrame(owners, "ok STRING, owner STRING").createOrReplaceTempView("owners")


def batch_counts(spark: SparkSession, relation: str, key: str, window: str) -> dict[Any, int]:
    """Rows of a relation, by start of the window and key."""
    start = "UNIX_MICROS(window.start) AS s"
    with interpreted(spark):
        rows = spark.sql(
            f"SELECT {start}, {key}, COUNT(*) FROM {relation} GROUP BY window(ts, {window}), {key}"
        ).collect()
    return {(row[0], row[1]): row[2] for row in rows}


def test_it_opens_and_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    home = restore(tmp_path)
    with Engine(home) as engine:
        before = engine.plan
        # The same script again, as `tidemill run` does: nothing in it is new.
        assert engine.ask(script_text(), tmp_path) == []
        assert engine.plan is before
        # FIRST and LAST left NULLs out when it was made, and do so until somebody says otherwise.
        with pytest.raises(TidemillError, match="query firsts exists and differs"):
            engine.ask(script_text().replace(" IGNORE NULLS", ""), tmp_path)
        answers_before = {name: state.answers for name, state in engine.queries.items()}
        cut_off = engine.run("idle")
        assert cut_off.rows_in == 40
        add_later_files(tmp_path)
        report = engine.run("flush")
        assert (report.rows_in, report.rows_late, report.rows_malformed) == (4 * 40, 0, 0)
        assert not any(report.raised.values())
        answers = {case.name: engine.query(case.name).answers().to_arrow() for case in CASES}
        joined = engine.query("joined").answers().to_arrow()
        counts = {name: state.answers for name, state in engine.queries.items()}

    show_input(spark, tmp_path)
    assert compare_all(spark, CASES, answers) == sum(len(rows) for rows in answers.values())
    assert all(0 < answers_before[name] < counts[name] for name in counts)
    assert {case.name: len(answers[case.name]) for case in CASES} == {
        case.name: counts[case.name] for case in CASES
    }
    windows = batches(spark, SOFT)
    for soft in SOFT:
        assert check(soft, answers_of(tmp_path, soft), windows[soft.keys, soft.range_ms])
    starts = joined["window_start"].cast("int64").to_pylist()
    keyed = zip(starts, joined["owner"].to_pylist(), strict=True)
    assert dict(zip(keyed, joined["n"].to_pylist(), strict=True)) == batch_counts(
        spark, "s LEFT JOIN owners ON k = ok", "owner", "'20 seconds', '5 seconds'"
    )
    lines = [json.loads(line) for line in (tmp_path / "lines.json").read_text().splitlines()]
    ends = Counter((line["window_end"], line["k"]) for line in lines)
    assert max(ends.values()) == 1
    in_lines = batch_counts(spark, "t", "k", "'10 seconds'")
    assert sorted((line["k"], line["n"]) for line in lines) == sorted(
        (key, count) for (_, key), count in in_lines.items()
    )


def agree(some: pa.Table, others: pa.Table) -> None:
    """The same rows; doubles may have been added in another order."""

    def parted(table: pa.Table) -> tuple[list[str], list[list[float]]]:
        rows = sorted(
            ([repr(v) for v in row if not is_double(v)], [v for v in row if is_double(v)])
            for row in zip(*table.to_pydict().values(), strict=True)
        )
        return [", ".join(exact) for exact, _ in rows], [doubles for _, doubles in rows]

    (exact, doubles), (exact_others, other_doubles) = parted(some), parted(others)
    assert exact == exact_others
    for these, those in zip(doubles, other_doubles, strict=True):
        assert these == pytest.approx(those, rel=1e-9, nan_ok=True)


def is_double(value: object) -> bool:
    return isinstance(value, float)


@pytest.mark.usefixtures("spark")
def test_expressions_in_other_words_are_the_same_ones(tmp_path: Path) -> None:
    """Old code and this code together answer what this code alone does, and count alike."""
    home = restore(tmp_path, WORDS)
    with Engine(home) as engine:
        before = engine.plan
        assert engine.ask(words.script_text(), tmp_path) == []
        assert engine.plan is before
        sums = before.synopsis_of("sums")
        assert before.synopsis_of("others") == sums
        assert [key.scalar.sql for key in sums.keys] == ["g * 2"]
        assert [lane.sql for lane in sums.lanes].count("sum(m + 1)") == 1
        assert len(before.synopsis_of("twice").keys) == 2  # their columns stay
        assert engine.run("idle").rows_in == words.ROWS
        raised = {name: state.raised for name, state in engine.queries.items()}
        add_later_files(tmp_path)
        engine.run("flush")
        answers = {name: engine.query(name).answers().to_arrow() for name in words.QUERIES}
        counts = dict(engine.queries)
    (tmp_path / "owners.csv").write_text(words.OWNERS)
    script = words.script_text().replace("'parquet:out'", "'parquet:again'")
    with Engine(tmp_path / "fresh") as engine:
        engine.ask(script, tmp_path)
        engine.run("flush")
        for name, rows in answers.items():
            agree(rows, engine.query(name).answers().to_arrow())
            assert len(rows) == counts[name].answers > 20
        raised_anew = {name: state.raised for name, state in engine.queries.items()}
    assert 0 < raised["raising"] < counts["raising"].raised
    # What two wordings raised was counted for each of them, and is counted once now; of a row that
    # a table repeats it was counted with each partner, and rows that WHERE leaves out were counted.
    assert raised_anew["sums"] < counts["sums"].raised
    repeated = {"sums", "others", "joined", "raising"}
    for name, state in counts.items():
        assert (
            (raised_anew[name] <= state.raised)
            if name in repeated
            else (raised_anew[name] == state.raised)
        )
