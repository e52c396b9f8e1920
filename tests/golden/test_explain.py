"""EXPLAIN, as golden text: what is shared is printed once, and only needed columns are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.share.goldens import GOLDENS as SHARED_GOLDENS
from tests.share.plans import NETMON
from tidemill import Engine
from tidemill.cli import app
from tidemill.clock import ManualClock
from tidemill.explain.weaves import WEAVE_COLUMNS

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
def test_every_reply_is_a_value_with_a_text_and_a_form_for_json(engine: Engine) -> None:
    modes = ("AST", "PLAN", "SHARED", "SCHEDULE", "SPARK")
    shown = ("STREAMS", "QUERIES", "SETTINGS", "WEAVES", "SCHEDULE")
    script = "; ".join([*(f"EXPLAIN {m} ALL" for m in modes), *(f"SHOW {kind}" for kind in shown)])
    replies = engine.ask(f"{script}; DESCRIBE a")
    told = [json.loads(json.dumps(reply.to_dict(), allow_nan=False)) for reply in replies]
    assert [each["reply"] for each in told] == [
        *["explanation"] * len(modes),
        *["table"] * len(shown),
        "description",
    ]
    assert [each["stage"] for each in told[: len(modes)]] == list(modes)
    assert [query["name"] for query in told[1]["subject"]] == ["a", "b", "c"]
    texts = engine.sql(f"{script}; DESCRIBE a")
    # Spark numbers its columns anew each time.
    spark = modes.index("SPARK")
    assert [str(reply) for n, reply in enumerate(replies) if n != spark] == [
        text for n, text in enumerate(texts) if n != spark
    ]


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
def test_three_queries_have_one_pass_and_one_synopsis(engine: Engine) -> None:
    (text,) = engine.explain("EXPLAIN SHARED ALL")
    assert text.count("\npass ") == text.count("\nsynopsis ") == 1
    assert "p1: a (12 s / 9 s), b (10 s / 6 s), c (1 min / 3 s + 1 s)" in text


COUNTED = """
CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT) ORDER BY ts SOURCE 'parquet:data';
CREATE QUERY middle AS SELECT src, MEDIAN(length) AS m FROM packets [RANGE 60 s SLIDE 10 s]
GROUP BY src;
CREATE QUERY slowest AS SELECT src, PERCENTILE(length, 0.99) AS p, COUNT(DISTINCT length) AS d
FROM packets [RANGE 30 s SLIDE 5 s] GROUP BY src;
CREATE QUERY largest AS SELECT src, MAX(length) AS m FROM packets [RANGE 1 min SLIDE 5 s]
GROUP BY src;
EXPLAIN SHARED ALL;
"""


def test_all_that_counts_of_values_tell_is_read_from_one_synopsis(
    tmp_path: Path, update_goldens: bool
) -> None:
    (tmp_path / "data").mkdir()
    with Engine(tmp_path / "home") as engine:
        (text,) = engine.explain(COUNTED, tmp_path)
    golden = GOLDENS / "counted.txt"
    if update_goldens:
        golden.write_text(text + "\n")
    assert text + "\n" == golden.read_text()
    assert text.count("\nsynopsis ") == text.count("keeps  rows(*), counts(length)\n") == 1


def test_the_page_of_the_example_is_from_a_sample_of_its_rows(tmp_path: Path) -> None:
    """The golden is that of tests/share, where the same sample is taken without Spark."""
    with Engine(tmp_path / "home") as engine:
        (text,) = engine.explain(f"{NETMON} EXPLAIN SHARED ALL", tmp_path)
    assert text + "\n" == (SHARED_GOLDENS / "netmon.txt").read_text(encoding="utf-8")


@pytest.mark.usefixtures("spark")
def test_weaves_are_shown_with_their_members(engine: Engine) -> None:
    (text,) = engine.explain("SHOW WEAVES")
    header, _, row = text.splitlines()
    assert header.split() == list(WEAVE_COLUMNS)
    assert row.split()[:5] == ["s1", "packets", "src", "3", "1"]


@pytest.mark.usefixtures("spark")
def test_one_query_is_told_with_whom_it_shares(engine: Engine) -> None:
    (text,) = engine.explain("EXPLAIN SHARED QUERY b")
    assert text.startswith("query b on packets, window 10 s / 6 s\n")
    assert "with    a, c\n" in text


@pytest.mark.usefixtures("spark")
def test_the_plan_of_a_script_is_drawn(tmp_path: Path) -> None:
    script, drawing = tmp_path / "script.sql", tmp_path / "graphs" / "plan.svg"
    script.write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "data").mkdir()
    done = CliRunner().invoke(app, ["explain", str(script), "--graph", str(drawing)])
    assert done.exit_code == 0
    assert "3 queries on packets: 1 synopsis" in done.output
    assert "<svg " in drawing.read_text(encoding="utf-8")


def test_a_drawing_that_is_no_svg_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT, encoding="utf-8")
    done = CliRunner().invoke(app, ["explain", str(script), "--graph", "plan.png"])
    assert done.exit_code == 2
    assert "SVG" in done.output


@pytest.mark.usefixtures("spark")
def test_one_scan_reads_only_the_needed_columns(engine: Engine) -> None:
    (text,) = engine.explain("EXPLAIN SPARK QUERY a")
    assert text.count("Scan parquet") == 2  # in the tree, and where it is described
    assert "ReadSchema: struct<ts:timestamp,src:string,port:int,length:bigint>" in text


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("EXPLAIN SPARK QUERY a", "arrays make the partials, in place of the plan below; that is"),
        ("SET scan = 'catalyst'; EXPLAIN SPARK QUERY a", "not arrays: scan is 'catalyst'"),
        (
            "EXPLAIN SPARK SELECT UPPER(dst) AS d, COUNT(*) AS n"
            " FROM packets [RANGE 5 SECONDS SLIDE 5 SECONDS] GROUP BY UPPER(dst)",
            "not arrays: grouped by UPPER(dst)",
        ),
        (
            "CREATE QUERY other AS SELECT MAX(dst) AS d"
            " FROM packets [RANGE 5 SECONDS SLIDE 5 SECONDS]; EXPLAIN SPARK QUERY a",
            "not arrays: keeps max(dst)",
        ),
    ],
    ids=["arrays", "set", "its own", "another's"],
)
def test_who_makes_the_partials_is_said_before_the_plan(
    engine: Engine, asked: str, told: str
) -> None:
    (text,) = engine.explain(asked)
    first, _, plan = text.partition("\n\n")
    assert first.startswith("stream packets: ")
    assert told in first
    assert plan.startswith("== Physical Plan ==")


@pytest.mark.usefixtures("spark")
def test_a_select_is_explained_before_it_is_registered(engine: Engine) -> None:
    select = "SELECT src, MAX(length) AS m FROM packets [RANGE 5 SECONDS SLIDE 5 SECONDS]"
    (text,) = engine.explain(f"EXPLAIN SHARED {select} GROUP BY src")
    assert text.startswith("if registered, a query on packets with window 5 s / 5 s\n")
    assert "  adds    " in text
    assert "  begins  with the stream\n" in text
    assert [query.name for query in engine.catalog.queries()] == ["a", "b", "c"]


def test_a_stream_under_way_tells_the_first_window_of_a_newcomer(tmp_path: Path) -> None:
    stream = "generate:packets?rate=50&duration=25s&hosts=5&seed=3"
    packets = "(ts TIMESTAMP, src STRING, length BIGINT)"
    window = "FROM packets [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY src"
    with Engine(tmp_path / "home", clock=ManualClock()) as engine:
        engine.sql(f"CREATE STREAM packets {packets} ORDER BY ts SOURCE '{stream}'")
        engine.sql(f"CREATE QUERY a AS SELECT src, COUNT(*) AS n {window}")
        engine.run("idle")
        standing = engine.plan
        (text,) = engine.explain(f"EXPLAIN SHARED SELECT src, MAX(length) AS m {window}")
        (told,) = engine.sql(f"CREATE QUERY b AS SELECT src, MAX(length) AS m {window}")
    assert standing.version == 1
    first = told.rpartition(" ")[2]
    assert first.endswith("30Z")  # rows are there until 25 s: the edge after them
    assert f"  begins  with the window that starts at {first}\n" in text
    assert "  adds    the partial max(length)\n" in text


@pytest.mark.usefixtures("spark")
def test_arrays_make_the_partials_of_generated_rows(tmp_path: Path) -> None:
    source = "generate:packets?rate=50&duration=25s&hosts=5&seed=3"
    with Engine(tmp_path / "home", clock=ManualClock()) as engine:
        engine.sql(f"CREATE STREAM p (ts TIMESTAMP, src STRING) ORDER BY ts SOURCE '{source}'")
        engine.sql("CREATE QUERY a AS SELECT src, COUNT(*) AS n FROM p [RANGE 1 s] GROUP BY src")
        (text,) = engine.explain("EXPLAIN SPARK ALL")
    assert text.startswith("stream p: arrays make the partials")
