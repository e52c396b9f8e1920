"""What a home has learned of its streams: another process plans by the same figures."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.share.plans import NETMON, bound, packets_sample
from tidemill import Engine
from tidemill.engine.register import plan as planning
from tidemill.engine.register.learned import load_samples, read_sample, write_sample
from tidemill.share import Sample
from tidemill.spark.sampling import take_sample

SECOND_US = 1_000_000
STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) ORDER BY ts SOURCE 'parquet:in';"
QUERIES = """
CREATE QUERY by_k AS SELECT k, COUNT(*) AS c FROM s [RANGE 4 s SLIDE 2 s] GROUP BY k;
CREATE QUERY by_n AS SELECT n, COUNT(*) AS c FROM s [RANGE 6 s SLIDE 3 s] WHERE n > 3 GROUP BY n;
CREATE QUERY both AS SELECT k, n, SUM(n) AS m FROM s [RANGE 4 s SLIDE 4 s] WHERE k = 'a'
GROUP BY k, n;
"""
ASK = "EXPLAIN SHARED ALL; SHOW WEAVES"


def write_rows(folder: Path, name: str, rows: int, values: int, first_s: int = 0) -> None:
    """A minute of rows, of so many values."""
    numbers = np.arange(rows)
    table = pa.table(
        {
            "ts": pa.array(first_s * SECOND_US + numbers * 60 * SECOND_US // rows).cast(
                pa.timestamp("us", tz="UTC")
            ),
            "k": [chr(97 + number % values % 26) for number in range(rows)],
            "n": numbers % values,
        }
    )
    (folder / "in").mkdir(exist_ok=True)
    pq.write_table(table, folder / "in" / name)


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A home with three queries, whose sample is of few values."""
    write_rows(tmp_path, "1.parquet", rows=600, values=7)
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + QUERIES, tmp_path)
    return tmp_path


def explained(folder: Path, statements: str = ASK) -> list[str]:
    with Engine(folder / "home") as engine:
        return engine.sql(statements, folder)


@pytest.fixture
def samplings(monkeypatch: pytest.MonkeyPatch) -> list[Sample]:
    """The samples that are taken from here on."""
    taken: list[Sample] = []
    take: Callable[..., Sample] = take_sample

    def note(*terms: object) -> Sample:
        taken.append(take(*terms))
        return taken[-1]

    monkeypatch.setattr(planning, "take_sample", note)
    return taken


def test_another_process_explains_the_same_plan_with_the_same_figures(
    begun: Path, samplings: list[Sample]
) -> None:
    """Also when the first files have gone and others are of another kind."""
    before = explained(begun)
    assert "from a sample of 600 rows, 10 rows a second" in before[0]
    (begun / "in" / "1.parquet").unlink()
    write_rows(begun, "0.parquet", rows=5_000, values=999)
    assert explained(begun) == before
    newcomer = "CREATE QUERY later AS SELECT k, SUM(n) AS m FROM s [RANGE 4 s SLIDE 2 s] GROUP BY k"
    assert (
        "from a sample of 600 rows, 10 rows a second" in explained(begun, newcomer + ";" + ASK)[-2]
    )
    assert samplings == []


def test_the_measured_rate_takes_the_place_of_the_samples_from_the_first_tick_on(
    begun: Path, samplings: list[Sample]
) -> None:
    write_rows(begun, "2.parquet", rows=2_400, values=7, first_s=60)
    with Engine(begun / "home") as engine:
        engine.sql("SET tick_files = 1")
        rates: list[float | None] = []
        engine.run("idle", lambda _: rates.append(rate_of(engine)))
        measured = engine.sql(ASK)
    # Upkeep follows the tick: the rate of the first is there before the second ends.
    assert rates == [None, pytest.approx(10.0, rel=0.01)]
    assert "from a sample of 600 rows, 10 rows a second as measured" in measured[0]
    assert explained(begun) == measured
    assert samplings == []
    database = sqlite3.connect(begun / "home" / "tidemill.db")
    ((rate,),) = database.execute("SELECT rows_per_second FROM rates").fetchall()
    database.close()
    assert rate == pytest.approx(10 + 0.3 * (40 - 10), rel=0.01)


def rate_of(engine: Engine) -> float | None:
    (stream,) = engine.plan.streams
    return engine.plan.rate_of(stream)


def test_a_stream_declared_otherwise_is_sampled_anew(begun: Path, samplings: list[Sample]) -> None:
    before = explained(begun)
    write_rows(begun, "0.parquet", rows=5_000, values=999)
    explained(
        begun,
        "DROP QUERY by_k; DROP QUERY by_n; DROP QUERY both; DROP STREAM s;"
        + STREAM.replace(" SOURCE", " WITH (lateness = '1 second') SOURCE")
        + QUERIES,
    )
    assert [sample.size for sample in samplings] == [5_600]
    after = explained(begun)
    assert "from a sample of 5,600 rows" in after[0]
    assert after != before
    assert len(samplings) == 1
    with Engine(begun / "home") as engine:
        assert len(load_samples(engine.home.open())) == 1


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE samples SET sample = X'7b7d0a00'",
        "UPDATE samples SET sample = substr(sample, 1, length(sample) - 9)",
        "UPDATE samples SET form = form + 1",
        "DROP TABLE samples; DROP TABLE rates; DROP TABLE rate_plans",
    ],
)
def test_a_sample_that_is_lost_is_taken_again(
    begun: Path, samplings: list[Sample], damage: str
) -> None:
    """A home of before has no such tables at all."""
    before = explained(begun)
    database = sqlite3.connect(begun / "home" / "tidemill.db")
    database.executescript(damage)
    database.close()
    assert "guessed, as no sample was taken" in explained(begun)[0]
    assert samplings == []
    for _ in range(2):
        explained(begun, "SET tick_files = 7")
        assert explained(begun) == before
    assert [sample.size for sample in samplings] == [600]


def test_a_sample_is_read_as_it_was_written() -> None:
    sample = replace(packets_sample(bound(NETMON)), rows_per_second=974.25)
    blob = write_sample(sample)
    read = read_sample(blob)
    assert read is not None
    assert (read.size, read.rows_per_second) == (sample.size, 974.25)
    assert len(read.keys) > 3 < len(read.bits)
    assert (read.keys.keys(), read.bits.keys()) == (sample.keys.keys(), sample.bits.keys())
    assert all(np.array_equal(read.keys[key], codes) for key, codes in sample.keys.items())
    assert all(np.array_equal(read.bits[p], flags) for p, flags in sample.bits.items())
    assert len(blob) < 20 * sample.size


@given(st.data())
def test_bytes_that_are_no_sample_are_none(data: st.DataObject) -> None:
    blob = write_sample(Sample(5.0, 9, {"k": np.arange(9)}, {}))
    cut = data.draw(st.integers(0, len(blob) - 1))
    assert read_sample(blob[:cut]) is None
    assert read_sample(data.draw(st.binary(max_size=40))) is None
