"""One lane tells what several would: value counts have extremes, a finer sketch has a coarser."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill import Engine
from tidemill.explain.replies import Selection

SECOND = timedelta(seconds=1)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STREAM = """
SET sharing = 'shared';
CREATE STREAM s (ts TIMESTAMP, k STRING, n INT, x DOUBLE, name STRING, at TIMESTAMP, b BOOLEAN)
  ORDER BY ts SOURCE 'parquet:in';
"""
COLUMNS = ("n", "x", "name", "at", "b", "k")
WINDOW = "FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS]"
EXTREMES = ", ".join(
    f"{f}({c}) AS {f}_{c}" for c in COLUMNS for f in ("MIN", "MAX", "COUNT") if c != "b"
)
WISHES = f"CREATE QUERY wishes AS SELECT k, {EXTREMES} {WINDOW} GROUP BY k;"
DISTINCT = ", ".join(f"COUNT(DISTINCT {c}) AS d_{c}" for c in COLUMNS)
COUNTING = f"CREATE QUERY counting AS SELECT k, {DISTINCT} {WINDOW} GROUP BY k;"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


def n_of(place: int) -> int | None:
    return None if place % 7 == 3 else (place * 37) % 50 - 20


def write(folder: Path, number: int, rows: int = 60) -> None:
    """A file of rows, a third of a second apart, with NULLs, NaN and infinities among them."""
    places = range(number * rows, (number + 1) * rows)
    floats = (float("nan"), float("inf"), -2.5, 0.0, None, 1e300)
    columns = {
        "ts": pa.array([NOON + p * SECOND / 3 for p in places], pa.timestamp("us", "UTC")),
        "k": [("a", "b", "", None)[p * p % 4] for p in places],
        "n": pa.array(map(n_of, places), pa.int32()),
        "x": [floats[p * p % 6] if p % 2 else p % 11 - 5.5 for p in places],
        "name": [("rita", "", "zoë", "日本", None)[p * 3 % 5] for p in places],
        "at": pa.array([NOON + p % 5 * SECOND for p in places], pa.timestamp("us", "UTC")),
        "b": [(True, False, None)[p % 3] for p in places],
    }
    pq.write_table(pa.table(columns), folder / "in" / f"{number:03d}.parquet")


def run(engine: Engine, folder: Path, files: Sequence[int], until: str = "idle") -> None:
    for number in files:
        write(folder, number)
        engine.run("idle")
    if until == "flush":
        engine.run("flush")


def rows_of(engine: Engine, query: str) -> list[str]:
    """The answers so far as text, so that NaN equals NaN."""
    return sorted(map(str, engine.query(query).answers().to_arrow().to_pylist()))


def lanes(engine: Engine) -> set[str]:
    (synopsis,) = engine.plan.synopses
    return {lane.sql for lane in synopsis.lanes}


def alone(folder: Path, query: str, files: Sequence[int]) -> list[str]:
    """What a query answers that nobody shares with."""
    (folder / "in").mkdir(parents=True)
    name = query.split()[2]
    with Engine(folder / "home") as engine:
        engine.sql(STREAM + query, folder)
        run(engine, folder, files, "flush")
        return rows_of(engine, name)


@pytest.mark.usefixtures("spark")
def test_extremes_and_counts_are_read_from_value_counts(folder: Path) -> None:
    with Engine(folder / "home") as engine:
        engine.sql(STREAM + WISHES + COUNTING, folder)
        assert lanes(engine) == {"rows(*)", *(f"counts({c})" for c in COLUMNS)}
        (text,) = engine.sql("EXPLAIN SHARED ALL;")
        assert "min(x) from counts(x), max(x) from counts(x)" in " ".join(text.split())
        run(engine, folder, range(3), "flush")
        answers = rows_of(engine, "wishes")
    assert len(answers) > 20
    assert answers == alone(folder / "alone", WISHES, range(3))


@pytest.mark.usefixtures("spark")
def test_a_newcomer_reads_the_counts_that_stand_from_the_first_window_on(folder: Path) -> None:
    with Engine(folder / "home") as engine:
        engine.sql(STREAM + COUNTING, folder)
        run(engine, folder, [0])
        short = "SELECT MIN(n) AS least, COUNT(n) AS c FROM s [RANGE 5 SECONDS SLIDE 5 SECONDS]"
        (at_once,) = engine.ask(f"{short};")
        assert isinstance(at_once, Selection)
        windows = [[n_of(p) for p in range(15 * w, 15 * w + 15)] for w in range(3)]
        values = [[n for n in window if n is not None] for window in windows]
        assert at_once.rows["least"].to_pylist() == list(map(min, values))
        assert at_once.rows["c"].to_pylist() == list(map(len, values))
        before = engine.plan.synopses[0]
        engine.sql(WISHES, folder)
        assert engine.plan.synopses[0].kept_lanes == before.kept_lanes
        run(engine, folder, [1, 2], "flush")
        answers = rows_of(engine, "wishes")
    whole = alone(folder / "alone", WISHES, range(3))
    assert set(answers) <= set(whole)
    assert 20 < len(answers) < len(whole)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("pieces", ["12", "1"], ids=["pieces", "snapshots"])
def test_what_was_derived_outlives_the_counts(folder: Path, pieces: str) -> None:
    """Windows that are open when the counts go have both: slices with them, and without."""
    with Engine(folder / "home") as engine:
        engine.sql(f"SET snapshot_pieces = {pieces};" + STREAM + WISHES + COUNTING, folder)
        run(engine, folder, [0, 1])
        engine.sql("DROP QUERY counting;")
        assert not any(lane.startswith("counts") for lane in lanes(engine))
        assert {"min(n)", "max(name)", "count(at)"} <= lanes(engine)
        run(engine, folder, [2])
    with Engine(folder / "home") as engine:
        # And what they were derived from is known to the next process.
        run(engine, folder, [3])
        # Counts that come again change nothing of what stands.
        engine.sql(COUNTING, folder)
        assert {"min(n)", "counts(n)"} <= lanes(engine)
        run(engine, folder, [4], "flush")
        answers = rows_of(engine, "wishes")
    # Answers in memory are gone with the first process.
    whole = alone(folder / "alone", WISHES, range(5))
    assert set(answers) <= set(whole)
    assert len(answers) > 20


def sketch(name: str, error: str, call: str) -> str:
    return f"CREATE QUERY {name} AS SELECT k, {call.format(error)} AS v {WINDOW} GROUP BY k;"


CALLS = {
    "hll": "APPROX_COUNT_DISTINCT(ts, {})",
    "theta": "APPROX_COUNT_DISTINCT(ts, {}, 'theta')",
    "kll": "APPROX_PERCENTILE(n, 0, {})",
    "items": "APPROX_TOP_K(n, 3, {})",
    "countmin": "APPROX_COUNT(n, 6, {})",
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_finer_sketch_serves_a_coarser_wish(folder: Path, kind: str) -> None:
    fine, coarse = (sketch(n, e, CALLS[kind]) for n, e in (("fine", "0.01"), ("coarse", "0.1")))
    with Engine(folder / "home") as engine:
        engine.sql(STREAM + fine + coarse, folder)
        assert len(lanes(engine)) == 2
        run(engine, folder, [0])
        # Whoever began with it goes on with it.
        engine.sql("DROP QUERY fine;")
        assert len(lanes(engine)) == 2
        run(engine, folder, [1], "flush")
        answers = rows_of(engine, "coarse")
    assert len(answers) > 20
    as_fine = alone(folder / "alone", fine.replace("fine", "coarse"), range(2))
    assert answers == as_fine


@pytest.mark.parametrize("kind", CALLS)
def test_a_finer_newcomer_changes_nothing_of_what_stands(folder: Path, kind: str) -> None:
    fine, coarse = (sketch(n, e, CALLS[kind]) for n, e in (("fine", "0.01"), ("coarse", "0.1")))
    with Engine(folder / "home") as engine:
        engine.sql(STREAM + coarse, folder)
        before = lanes(engine)
        run(engine, folder, [0])
        engine.sql(fine, folder)
        assert before < lanes(engine)
        run(engine, folder, [1, 2], "flush")
        answers, of_fine = rows_of(engine, "coarse"), rows_of(engine, "fine")
    assert answers == alone(folder / "coarse", coarse, range(3))
    whole = alone(folder / "fine", fine, range(3))
    assert set(of_fine) < set(whole)
    assert len(of_fine) > 10
