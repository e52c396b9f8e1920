"""Values at the edges of their types, and expressions that would have stopped a tick."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill import Engine
from tidemill.clock import Stopwatch
from tidemill.engine.tick.fold import ScanFolder
from tidemill.engine.tick.journal import TickRecord

S = 1_000_000
HEAD = "CREATE STREAM s ({}) ORDER BY {} SOURCE 'parquet:in' WITH (lateness = '1 hour');"
pytestmark = pytest.mark.usefixtures("spark")


def put(folder: Path, number: int, **columns: Any) -> None:
    (folder / "in").mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / "in" / f"{number:03d}.parquet")


def times(*values: int) -> pa.Array:
    return pa.array(values, pa.timestamp("us", tz="UTC"))


def ask(folder: Path, head: str, *selects: str) -> tuple[Engine, list[list[dict[str, Any]]]]:
    """The answers of each SELECT, without their bounds."""
    queries = [f"CREATE QUERY q{n} AS {select};" for n, select in enumerate(selects)]
    with Engine(folder / "home") as engine:
        engine.sql(head + "".join(queries), folder)
        report = engine.run("flush")
        found = [engine.query(f"q{n}").answers().to_arrow() for n in range(len(selects))]
    assert report.rows_in > 0
    return engine, [
        table.sort_by("window_start").drop_columns(BOUNDS).to_pylist() for table in found
    ]


BOUNDS = ["window_start", "window_end"]


def test_a_slice_whose_decimal_sum_overflowed_is_not_left_out(tmp_path: Path) -> None:
    large = Decimal("9" * 36 + ".99")
    values = pa.array([large, large, large, Decimal(1)], pa.decimal128(38, 2))
    put(tmp_path, 0, ts=times(S, S, 2 * S, 11 * S), w=values)
    head = HEAD.format("ts TIMESTAMP, w DECIMAL(38,2)", "ts")
    select = "SELECT SUM(w) AS s, AVG(w) AS a FROM s [RANGE 20 s SLIDE 10 s]"
    engine, (rows,) = ask(tmp_path, head, select)
    assert rows[:2] == [{"s": None, "a": None}] * 2
    assert rows[2] == {"s": Decimal("1.00"), "a": Decimal("1.000000")}
    assert engine.queries["q0"].raised == 2


@pytest.mark.parametrize("pieces", [1, 12])
def test_overflow_survives_a_snapshot(tmp_path: Path, pieces: int) -> None:
    for number in range(6):
        value = Decimal("6" * 36) if number < 3 else Decimal(1)
        put(tmp_path, number, ts=times(number * S), w=pa.array([value], pa.decimal128(38, 2)))
    settings = f"SET tick_files = 1; SET buckets = 1; SET snapshot_pieces = {pieces};"
    head = settings + HEAD.format("ts TIMESTAMP, w DECIMAL(38,2)", "ts")
    _, (rows,) = ask(tmp_path, head, "SELECT SUM(w) AS s FROM s [RANGE 20 s SLIDE 20 s]")
    assert rows == [{"s": None}]


def test_a_time_no_slice_can_hold_is_malformed(tmp_path: Path) -> None:
    put(tmp_path, 0, ts=times(S, -(2**63), 5 * S), m=pa.array([1, 2, 3]))
    head = HEAD.format("ts TIMESTAMP, m BIGINT", "ts")
    _, (rows,) = ask(tmp_path, head, "SELECT SUM(m) AS s FROM s [RANGE 10 s SLIDE 5 s]")
    assert [row["s"] for row in rows] == [1, 4, 3]
    (file,) = (tmp_path / "home" / "streams" / "s" / "malformed").glob("*.parquet")
    assert pq.read_table(file).column("reason").to_pylist() == ["event time out of range"]


def test_functions_read_the_stamp_of_arrival_and_not_the_clock(tmp_path: Path) -> None:
    put(tmp_path, 0, k=["a", "b"])
    head = HEAD.format("k STRING, current_time TIMESTAMP", "current_time")
    window = "FROM s [RANGE 1 DAY SLIDE 1 DAY]"
    engine, (years, counts) = ask(
        tmp_path,
        head,
        f"SELECT LENGTH(DATE_FORMAT(current_time, 'yyyy')) AS y, COUNT(*) AS n {window} GROUP BY 1",
        f"SELECT COUNT(*) AS n {window} WHERE YEAR(current_time) > 2000",
    )
    assert years == [{"y": 4, "n": 2}]
    assert counts == [{"n": 2}]
    assert engine.queries["q0"].raised == engine.queries["q1"].raised == 0


def test_expressions_that_could_stop_a_tick_do_not(tmp_path: Path) -> None:
    lists = pa.array([[1, 2], [3]], pa.list_(pa.int32()))
    put(tmp_path, 0, ts=times(S, 2 * S), arr=lists, m=pa.array([-(2**63), 0]))
    head = HEAD.format("ts TIMESTAMP, arr ARRAY<INT>, m BIGINT", "ts")
    window = "FROM s [RANGE 10 s SLIDE 10 s]"
    engine, found = ask(
        tmp_path,
        head,
        f"SELECT MAX(SIZE(TRANSFORM(arr, y -> y + 1))) AS n {window}",
        f"SELECT COUNT(*) AS n {window} HAVING NULL",
        f"SELECT COUNT(-m) AS n, SUM(arr[1]) AS second {window}",
        f"SELECT SUM(NVL(m, 1 / 0)) AS n {window} GROUP BY m",
        f"SELECT CONCAT('x', 1 / MAX(m)) AS text {window}",
    )
    assert found[:3] == [[{"n": 2}], [], [{"n": 1, "second": 2}]]
    assert found[4] == [{"text": None}]
    raised = [engine.queries[f"q{number}"].raised for number in range(5)]
    assert raised == [0, 0, 2, 0, 1]


def test_sums_and_products_are_worked_out_as_they_are_grouped(tmp_path: Path) -> None:
    """Another grouping overflows; the key leaves the rows to Catalyst."""
    low = pa.array([-(2**31), -(2**31)], pa.int32())
    put(tmp_path, 0, ts=times(S, 2 * S), k=low, t=pa.array([-1, 0], pa.int32()), src=["a", "a"])
    head = HEAD.format("ts TIMESTAMP, k INT, t INT, src STRING", "ts")
    select = "SELECT SUM(k + (t + 2)) AS s, MIN(k * (t * 1 * 0)) AS p FROM s [RANGE 9 s SLIDE 9 s]"
    engine, answers = ask(tmp_path, head, select, f"{select} GROUP BY UPPER(src)")
    assert answers == [[{"s": -(2**32) + 3, "p": 0}]] * 2
    assert [engine.queries[name].raised for name in ("q0", "q1")] == [0, 0]


def test_constants_and_flags_that_raise_stop_nothing(tmp_path: Path) -> None:
    """Spark works constants out while it plans, and a flag repeats the parts it judges."""
    put(tmp_path, 0, ts=times(S, 2 * S), src=["7", "x"], m=pa.array([1, 2]))
    head = HEAD.format("ts TIMESTAMP, src STRING, m BIGINT", "ts")
    window = "FROM s [RANGE 10 s SLIDE 10 s]"
    engine, found = ask(
        tmp_path,
        head,
        f"SELECT COUNT(*) AS n {window}",
        f"SELECT COUNT(*) AS n {window} WHERE m = 'x'",
        f"SELECT SUM(CAST(src > 5 AS INT)) AS n {window}",
        f"SELECT COUNT(*) AS n, CONCAT('a', 1 / 0) AS text {window} HAVING COUNT(*) <> 'x'",
    )
    assert found == [[{"n": 2}], [], [{"n": 1}], []]
    raised = [engine.queries[f"q{number}"].raised for number in range(4)]
    assert raised[:3] == [0, 2, 1]
    assert raised[3] > 0


def test_a_tick_that_cannot_run_does_not_hold_its_query_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was decided, so the tick is given up and its input taken under the new plan."""
    put(tmp_path, 0, ts=times(S, 2 * S))
    select = "AS SELECT COUNT(*) AS n FROM s [RANGE 10 s SLIDE 10 s]"
    fold = ScanFolder._fold

    def fail(self: ScanFolder, record: TickRecord, watch: Stopwatch) -> Any:
        if any(query.name == "bad" for query in engine.plan.queries):
            raise RuntimeError("this plan cannot run")
        return fold(self, record, watch)

    monkeypatch.setattr(ScanFolder, "_fold", fail)
    with Engine(tmp_path / "home") as engine:
        head = HEAD.format("ts TIMESTAMP", "ts")
        engine.sql(f"{head} CREATE QUERY good {select}; CREATE QUERY bad {select};", tmp_path)
        with pytest.raises(RuntimeError, match="cannot run"):
            engine.run("idle")
    with Engine(tmp_path / "home") as engine:
        engine.sql("DROP QUERY bad")
        report = engine.run("flush")
        assert engine.query("good").answers().to_arrow().column("n").to_pylist() == [2]
    assert report.rows_in == 2


def test_a_replaced_window_with_the_same_edges_keeps_its_own_slices(tmp_path: Path) -> None:
    """Gaps of the old window are slices of the new one, also after the home is opened again."""
    query = "QUERY q AS SELECT COUNT(*) AS n FROM s [RANGE {} SECONDS SLIDE 5 SECONDS];"
    put(tmp_path, 0, ts=times(*(second * S for second in range(100))))
    with Engine(tmp_path / "home") as engine:
        engine.sql(HEAD.format("ts TIMESTAMP", "ts") + "CREATE " + query.format(2), tmp_path)
        engine.run("idle")
    with Engine(tmp_path / "home") as engine:
        engine.sql("CREATE OR REPLACE " + query.format(7), tmp_path)
    put(tmp_path, 1, ts=times(*(second * S for second in range(100, 200))))
    with Engine(tmp_path / "home") as engine:
        engine.run("flush")
        counts = engine.query("q").answers().to_arrow().column("n").to_pylist()
    assert len(counts) == 20
    assert counts[:19] == [7] * 19


def test_dates_beyond_9999_can_be_written_as_json(tmp_path: Path) -> None:
    put(tmp_path, 0, ts=times(S), d=pa.array([10**7], pa.date32()))
    head = HEAD.format("ts TIMESTAMP, d DATE", "ts") + "CREATE SINK out TO 'json:out.json';"
    with Engine(tmp_path / "home") as engine:
        select = "SELECT MAX(d) AS d FROM s [RANGE 10 s SLIDE 10 s]"
        engine.sql(f"{head} CREATE QUERY q INTO out AS {select};", tmp_path)
        engine.run("flush")
    assert '"d": "29349-01-26"' in (tmp_path / "out.json").read_text()
