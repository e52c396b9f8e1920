"""EXPLAIN, as golden text: what is shared is printed once, and only needed columns are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill import Engine

GOLDENS = Path(__file__).parent / "explain"
SCRIPT = """
CREATE STREAM packets (ts TIMESTAMP, src STRING, dst STRING, port INT, length BIGINT)
  ORDER BY ts SOURCE 'parquet:data';
CREATE SINK nowhere TO 'discard:';
CREATE QUERY a INTO nowhere AS
SELECT src, SUM(length) AS bytes FROM packets [RANGE 12 SECONDS SLIDE 9 SECONDS]
WHERE port = 80 GROUP BY src;
CREATE QUERY b INTO nowhere AS
SELECT src, AVG(length) AS mean, UPPER(src) AS name FROM packets [RANGE 10 SECONDS SLIDE 6 SECONDS]
WHERE port = 80 GROUP BY src HAVING AVG(length) / 2 > 10 ORDER BY mean DESC LIMIT 3;
CREATE QUERY c INTO nowhere AS
SELECT src, COUNT(*) AS packets FROM packets [RANGE 1 MINUTE SLIDE 3 SECONDS START 1 SECOND]
WHERE port = 80 GROUP BY src;
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("explain")
    (folder / "data").mkdir()
    schema = pa.schema(
        [
            ("ts", pa.timestamp("us", tz="UTC")),
            ("src", pa.string()),
            ("dst", pa.string()),
            ("port", pa.int32()),
            ("length", pa.int64()),
        ]
    )
    pq.write_table(schema.empty_table(), folder / "data" / "none.parquet")
    with Engine(folder / "home") as engine:
        engine.sql(SCRIPT, folder)
        yield engine


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("mode", ["ast", "plan", "shared"])
def test_explain_reads_as_its_golden(engine: Engine, mode: str, update_goldens: bool) -> None:
    (text,) = engine.explain(f"EXPLAIN {mode.upper()} ALL")
    golden = GOLDENS / f"{mode}.txt"
    if update_goldens:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text + "\n")
    assert text + "\n" == golden.read_text()


@pytest.mark.usefixtures("spark")
def test_three_queries_have_their_edges_and_slices_once(engine: Engine) -> None:
    (text,) = engine.explain("EXPLAIN SHARED ALL")
    assert text.count("  edges ") == text.count("  slices ") == text.count("\nsynopsis ") == 1
    assert text.count("  serves ") == 3


@pytest.mark.usefixtures("spark")
def test_one_scan_reads_only_the_needed_columns(engine: Engine) -> None:
    (text,) = engine.explain("EXPLAIN SPARK QUERY a")
    assert text.count("Scan parquet") == 2  # in the tree, and where it is described
    assert "ReadSchema: struct<ts:timestamp,src:string,port:int,length:bigint>" in text


@pytest.mark.usefixtures("spark")
def test_a_select_is_explained_before_it_is_registered(engine: Engine) -> None:
    select = "SELECT src, MAX(length) AS m FROM packets [RANGE 5 SECONDS SLIDE 5 SECONDS]"
    (text,) = engine.explain(f"EXPLAIN SHARED {select} GROUP BY src")
    assert "serves  this_query [RANGE 5 SECONDS SLIDE 5 SECONDS]" in text
    assert [query.name for query in engine.catalog.queries()] == ["a", "b", "c"]
