"""Every built-in source can be interrupted and replayed; a source that cannot is caught."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tidemill.catalog import Stream, stream_of
from tidemill.catalog.addresses import SOURCES
from tidemill.catalog.handed import answer_stream, side_stream
from tidemill.clock import SystemClock
from tidemill.connect.handovers import HandoverLedger
from tidemill.connect.packets.packets import PacketModel, make_block
from tidemill.connect.sources import (
    AnySource,
    ArrowBlocks,
    Extent,
    Files,
    InputRows,
    Json,
    Position,
    SourceTools,
    open_source,
)
from tidemill.connect.sources.check import CheckedSource, check_source, rows_here
from tidemill.connect.sources.contract import SourceReader, stored_columns
from tidemill.errors import refuse
from tidemill.language import parse_script
from tidemill.language.names import Name
from tidemill.language.statements import CreateAnswerStream, CreateStream
from tidemill.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ("ts", "src", "length")
PARTS = 4


def no_measure(files: Files, time_column: str) -> dict[str, Extent]:
    raise AssertionError("only recordings are measured")


TOOLS = SourceTools(SystemClock(), no_measure)


PACKETS = "ts TIMESTAMP, src STRING, length BIGINT"


def stream(address: str, columns: str = PACKETS) -> Stream:
    time = "ts" if columns == PACKETS else "dateTime"
    (statement,) = parse_script(f"CREATE STREAM s ({columns}) ORDER BY {time} SOURCE '{address}'")
    assert isinstance(statement, CreateStream)
    return stream_of(statement)


def opened(
    address: str, tools: SourceTools = TOOLS, columns: str = PACKETS
) -> Callable[[], AnySource]:
    return lambda: open_source(stream(address, columns), tools)


def write_parts(folder: Path, file_format: str) -> Path:
    """Some files, each a second of packets, the later ones first by name."""
    folder.mkdir()
    for number in range(PARTS):
        path = folder / f"{PARTS - number}.{file_format}"
        rows = pa.Table.from_batches([make_block(PacketModel(rate=5), number)]).select(COLUMNS)
        if file_format == "parquet":
            pq.write_table(rows, path)
        elif file_format == "csv":
            rows = rows.set_column(0, "ts", rows["ts"].cast(pa.timestamp("us")))
            pa.csv.write_csv(rows, path, pa.csv.WriteOptions(include_header=False))
        else:
            lines = (json.dumps(row, default=str) for row in rows.to_pylist())
            path.write_text("".join(f"{line}\n" for line in lines))
        os.utime(path, ns=(number * 10**9, number * 10**9))
    return folder


GENERATED = CheckedSource(
    opened("generate:packets?rate=20&rows=70"),
    COLUMNS,
    wrong=[
        opened("generate:parcels"),
        opened("generate:packets?rates=5"),
        opened("generate:packets?rate=none"),
        opened("generate:packets?pace=0"),
    ],
    empty=opened("generate:packets?rows=0"),
)


def test_generated_packets():
    check_source(GENERATED)


NEXMARK = {
    "person": "name STRING, datetime TIMESTAMP, extra STRING",
    "auction": "seller BIGINT, expires TIMESTAMP, dateTime TIMESTAMP",
    "bid": "auction BIGINT, PRICE BIGINT, dateTime TIMESTAMP, url STRING",
}


def house_opened(address: str, columns: str) -> Callable[[], AnySource]:
    return opened(f"generate:nexmark/{address}", columns=columns)


@pytest.mark.parametrize("table", NEXMARK)
def test_generated_auctions(table: str):
    columns = NEXMARK[table]
    case = CheckedSource(
        house_opened(f"{table}?rate=90&events=320", columns),
        tuple(pair.split()[0] for pair in columns.split(", ")),
        wrong=[
            house_opened(f"{table}s", columns),
            house_opened(f"{table}?rows=5", columns),
            house_opened(f"{table}?rate=none", columns),
            house_opened(f"{table}?pace=0", columns),
            house_opened(table, f"{columns}, length BIGINT"),
            house_opened(table, columns.replace("STRING", "INT").replace("BIGINT", "INT")),
        ],
        empty=house_opened(f"{table}?events=0", columns),
    )
    check_source(case)
    assert case.make().next_input(Position(), Settings(), True) is not None


def handed_over(folder: Path, column: str) -> CheckedSource:
    """Rows of several ticks, some of them in two files, with promises alone in between."""
    name = "s.late" if column == "late_by_us" else "s"
    ledger = HandoverLedger(sqlite3.connect(":memory:", isolation_level=None), folder)
    ledger.place(Name(name)).mkdir(parents=True)
    for number in range(PARTS):
        files = [f"{number}-{part}.parquet" for part in range(1 + number % 2)]
        for file in files:
            ends = pa.array([number * 10**6] * 3, pa.int64()).cast(pa.timestamp("us", "UTC"))
            rows = pa.table({"window_end": ends, "src": ["a", None, "b"], "late_by_us": [1, 2, 3]})
            pq.write_table(rows, ledger.place(Name(name)) / file)
        ledger.add(Name(name), files, 3 * len(files), number * 10**6)
        ledger.add(Name(name), [], 0, number * 10**6 + 1)
        ledger.add(Name("others"), ["nowhere.parquet"], 1)
    text = f"""CREATE STREAM s (ts TIMESTAMP, src STRING) ORDER BY ts SOURCE 'parquet:in';
        CREATE STREAM a ({column} TIMESTAMP, src STRING) AS
          SELECT src FROM s [RANGE 1 s SLIDE 1 s] GROUP BY src"""
    base, answers = parse_script(text)
    assert isinstance(base, CreateStream)
    assert isinstance(answers, CreateAnswerStream)
    is_side = column == "late_by_us"
    fed = side_stream(stream_of(base), "late") if is_side else answer_stream(answers, 0)
    fed = replace(fed, name=name)
    return CheckedSource(
        lambda: open_source(fed, replace(TOOLS, handovers=ledger)),
        ("src", column),
        settings=Settings(tick_rows=4),
        empty=lambda: open_source(fed, TOOLS),
    )


@pytest.mark.parametrize("column", ["late_by_us", "window_time"])
def test_rows_that_ticks_of_other_streams_hand_over(tmp_path: Path, column: str):
    case = handed_over(tmp_path, column)
    check_source(case)
    source = case.make()
    assert source.promise_alone(Position()) == (PARTS - 1) * 10**6 + 1
    portion = source.next_input(Position(), case.settings, True)
    assert portion is not None
    assert source.promise(portion) == 0
    rows = rows_here(source.read(portion, (column,)))
    assert rows.column(column).cast(pa.int64())[0].as_py() == (1 if column == "late_by_us" else -1)


def test_parquet_files(tmp_path: Path):
    place = write_parts(tmp_path / "in", "parquet")
    (tmp_path / "empty").mkdir()
    case = CheckedSource(
        opened(f"parquet:{place}"),
        COLUMNS,
        wrong=[opened(f"parquet:{tmp_path / 'nowhere'}")],
        empty=opened(f"parquet:{tmp_path / 'empty'}"),
    )
    check_source(case)


def spark_case(spark: SparkSession, scheme: str, folder: Path) -> CheckedSource:
    from tidemill.spark.readers import measure_files

    tools = SourceTools(SystemClock(), partial(measure_files, spark))
    (folder / "empty").mkdir()
    if scheme == "replay":
        place = write_parts(folder / "in", "parquet")
        wrong = (f"replay:{place}?speed=-1", f"replay:{folder / 'empty'}")
        made = opened(f"replay:{place}?speed=0", tools)
        return CheckedSource(
            made, COLUMNS, [opened(each, tools) for each in wrong], settings=Settings(tick_rows=5)
        )
    place = write_parts(folder / "in", scheme)
    return CheckedSource(
        opened(f"{scheme}:{place}"),
        COLUMNS,
        [opened(f"{scheme}:{folder / 'nowhere'}")],
        opened(f"{scheme}:{folder / 'empty'}"),
    )


@pytest.mark.parametrize("scheme", ["csv", "json", "replay"])
def test_what_spark_reads(spark: SparkSession, scheme: str, tmp_path: Path):
    from tidemill.spark.readers import frame_of

    def read(rows: InputRows) -> pa.Table:
        return frame_of(spark, rows).toArrow()

    check_source(spark_case(spark, scheme, tmp_path), read)


def line_stream(address: str, columns: str = "line STRING, current_time TIMESTAMP") -> Stream:
    time = "current_time" if "current_time" in columns else "ts"
    (statement,) = parse_script(f"CREATE STREAM s ({columns}) ORDER BY {time} SOURCE '{address}'")
    assert isinstance(statement, CreateStream)
    return stream_of(statement)


def lines_opened(address: str, *columns: str) -> Callable[[], AnySource]:
    return lambda: open_source(line_stream(address, *columns), TOOLS)


def test_lines_of_text(spark: SparkSession, tmp_path: Path):
    from tidemill.spark.readers import frame_of

    (tmp_path / "empty").mkdir()
    (tmp_path / "in").mkdir()
    texts = ('one\n\ntwo, "three"\n', "\n\n", "ä\r\nlast")
    for number, text in enumerate(texts):
        (tmp_path / "in" / f"{number}.log").write_bytes(text.encode())
    place = f"lines:{tmp_path / 'in'}"
    case = CheckedSource(
        lines_opened(place),
        ("line",),
        [
            lines_opened(f"lines:{tmp_path / 'nowhere'}"),
            lines_opened(f"{place}?header=true"),
            lines_opened(place, "ts TIMESTAMP"),
            lines_opened(place, "line INT, current_time TIMESTAMP"),
            lines_opened(place, "line STRING, more STRING, current_time TIMESTAMP"),
        ],
        lines_opened(f"lines:{tmp_path / 'empty'}"),
    )
    check_source(case, lambda rows: frame_of(spark, rows).toArrow())
    source = lines_opened(place)()
    whole = source.next_input(Position(), Settings(), True)
    lines = frame_of(spark, source.read(whole, ["line"])).toArrow()["line"].to_pylist()
    assert sorted(lines) == sorted(["one", "", 'two, "three"', "", "", "ä", "last"])


def test_every_source_of_the_register_is_checked():
    assert set(SOURCES.schemes) == {"generate", "parquet", "csv", "json", "lines", "replay"}


# Numbered rows, and ways of getting them wrong.


@dataclass(frozen=True)
class Numbers:
    low: int
    high: int

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    @property
    def mark(self) -> Json:
        return {"next": self.high}

    def to_json(self) -> Json:
        return [self.low, self.high]


class Counting(SourceReader[Numbers]):
    """Ten rows, numbered; its position is a value of its own."""

    end = 10

    def __init__(self, option: str = "") -> None:
        if option:
            refuse("E_SOURCE", f"no option '{option}'", hint="there are none")
        self._stream = stream("generate:packets")

    def next_input(self, position: Position, settings: Settings, draining: bool) -> Numbers | None:
        low = position.mark["next"] if position.mark else 0
        high = min(self.end, low + settings.tick_rows)
        return Numbers(low, high) if high > low else None

    def restore(self, stored: Json) -> Numbers:
        return Numbers(*stored)

    def is_done(self, position: Position) -> bool:
        return position.mark is not None and position.mark["next"] >= self.end

    def read(self, portion: Numbers, columns: Sequence[str]) -> InputRows:
        numbers = range(portion.low, portion.high)
        return ArrowBlocks(
            stored_columns(self._stream, columns), numbers, partial(one_row, tuple(columns))
        )

    def any_input(self, settings: Settings) -> Numbers | None:
        return Numbers(0, 1)


def one_row(columns: tuple[str, ...], number: int) -> list[pa.RecordBatch]:
    values = {
        "ts": pa.array([number], pa.timestamp("us", tz="UTC")),
        "src": ["a"],
        "length": [number],
    }
    types = {"length": pa.int64(), "src": pa.string(), "ts": pa.timestamp("us", tz="UTC")}
    return [
        pa.RecordBatch.from_arrays(
            [pa.array(values[name], types[name]) for name in columns], list(columns)
        )
    ]


class Accepting(Counting):
    def __init__(self, option: str = "") -> None:
        super().__init__()


class Standing(Counting):
    """Its position does not move."""

    def next_input(self, position, settings, draining):
        return Still(0, 1)


class Still(Numbers):
    mark = None


class Endless(Counting):
    end = 10**9


class Forgetful(Counting):
    """What it stores is not what it took."""

    def restore(self, stored: Json) -> Numbers:
        return Numbers(stored[0], stored[0] + 1)


class Unstored(Counting):
    """Its mark is no JSON."""

    def next_input(self, position, settings, draining):
        given = super().next_input(position, settings, draining)
        return given and Tupled(given.low, given.high)

    def restore(self, stored: Json) -> Numbers:
        return Tupled(*stored)


class Tupled(Numbers):
    @property
    def mark(self) -> Json:
        return {"next": self.high, "pair": (1, 2)}


class Fickle(Counting):
    """Other rows each time."""

    reads = itertools.count()

    def read(self, portion: Numbers, columns: Sequence[str]) -> InputRows:
        rows = super().read(portion, columns)
        assert isinstance(rows, ArrowBlocks)
        return replace(rows, numbers=range(next(self.reads), 10**6)[:1])


class Skipping(Counting):
    """After a restart it begins with the row after next."""

    def __init__(self, option: str = "") -> None:
        super().__init__(option)
        self._is_fresh = True

    def next_input(self, position, settings, draining):
        given = super().next_input(position, settings, draining)
        if given and given.low and self._is_fresh and given.high < self.end:
            given = Numbers(given.low + 1, given.high + 1)
        self._is_fresh = False
        return given


class Undone(Counting):
    def is_done(self, position: Position) -> bool:
        return False


class Modest(Counting):
    def most_rows(self, portion: Numbers) -> int:
        return 0


class Halved(Counting):
    def parts(self, portion: Numbers) -> dict[str, Numbers]:
        return {"first": Numbers(portion.low, portion.low)}

    def without(self, portion, names):
        return None


class Columnless(Counting):
    def read(self, portion: Numbers, columns: Sequence[str]) -> InputRows:
        return super().read(portion, columns if len(columns) > 1 else ("ts",))


class Planless(Counting):
    def any_input(self, settings: Settings) -> None:
        return None


class Bounded(Counting):
    """With large inputs it leaves out the last row."""

    def next_input(self, position, settings, draining):
        given = super().next_input(position, settings, draining)
        return Short(given.low, given.high) if given and settings.tick_rows > 3 else given

    def read(self, portion: Numbers, columns: Sequence[str]) -> InputRows:
        high = portion.high - isinstance(portion, Short)
        return super().read(Numbers(portion.low, high), columns)


class Short(Numbers):
    """Reads less than it takes."""


def counting_case(source: type[Counting]) -> CheckedSource:
    return CheckedSource(
        source, COLUMNS, wrong=[lambda: source("speed")], settings=Settings(tick_rows=3)
    )


def test_a_position_is_a_value_of_the_source():
    check_source(counting_case(Counting))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (Accepting, "a wrong address was not refused"),
        (Standing, "the position is where it was"),
        (Endless, "does not come to an end"),
        (Undone, "nothing is left, and the source is not done"),
        (Forgetful, "came back from JSON as"),
        (Unstored, "the mark"),
        (Fickle, "had other rows"),
        (Modest, "has over 0 rows"),
        (Skipping, "rows were lost or doubled"),
        (Bounded, "larger inputs have other rows"),
        (Columnless, "column length was not read"),
        (Halved, "are not it"),
        (Planless, "none to make a plan with"),
    ],
)
def test_a_source_that_breaks_the_contract_is_caught(source: type[Counting], reason: str):
    with pytest.raises(AssertionError, match=reason):
        check_source(counting_case(source))


def test_rows_in_an_empty_source_are_seen():
    case = replace(counting_case(Counting), empty=Counting)
    with pytest.raises(AssertionError, match="an empty source has rows"):
        check_source(case)
