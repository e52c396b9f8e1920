"""The rows of an input as a DataFrame, from what their source says of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from tidemill.connect.sources.contract import (
    AnySource,
    ArrowBlocks,
    Extent,
    Files,
    Input,
    InputRows,
)
from tidemill.language.names import quote_name
from tidemill.language.statements import ColumnDef
from tidemill.scan.contract import TimeRange
from tidemill.spark.catalyst.admission import CORRUPT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OF_PATTERNS = re.compile(r"[][{}*?\\]")
_JAVA_CLASS = re.compile(r"^([\w$]+\.)+[\w$]+: |^\[[A-Z_.]+\] ")


def frame_of(session: SparkSession, reading: InputRows) -> DataFrame:
    """The rows: the columns of the reading, and `_corrupt` for text. Lazy and repeatable."""
    if isinstance(reading, Files):
        return read_files(session, reading)
    return read_blocks(session, reading)


def read_files(session: SparkSession, files: Files) -> DataFrame:
    """Text is parsed permissively, and a bad line stands in `_corrupt`."""
    reader = session.read.format(files.format)
    for key, value in files.options.items():
        reader = reader.option(key, value)
    schema = _ddl(files.columns)
    if files.is_text:
        schema += f", {CORRUPT} STRING"
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", CORRUPT)
    if files.options.get("header", "").lower() == "true":
        reader = reader.option("enforceSchema", "false")
    rows = reader.schema(schema).load([f"file:{_as_name(path)}" for path in files.paths])
    return rows.where(_within(files.within)) if files.within else rows


def _within(times: TimeRange) -> str:
    """Constants beside the column itself: Spark leaves out parts of files that have no such row."""
    column = quote_name(times.column)
    low, high = (f"TIMESTAMP_MICROS({us}L)" for us in (times.low_us, times.high_us))
    condition = f"{column} >= {low} AND {column} < {high}"
    return f"({condition}) OR {column} IS NULL" if times.takes_untimed else condition


def _as_name(path: str) -> str:
    """As a pattern for this path alone: folders may be called "a[1]".

    Spark's option that takes all paths for names reads every file once for each of such paths.

    >>> print(_as_name("/in/a[1].json"))
    /in/a\\[1\\].json
    """
    return _OF_PATTERNS.sub(lambda letter: "\\" + letter[0], path)


def read_blocks(session: SparkSession, reading: ArrowBlocks, place: str = "") -> DataFrame:
    """The blocks made on the executors; in a column of the name `place`, where each stands."""
    count = len(reading.numbers)
    frame = session.range(0, count, 1, min(count, session.sparkContext.defaultParallelism))
    schema = _ddl(reading.columns)
    maker = _maker(reading.make, tuple(reading.numbers), place)
    return frame.mapInArrow(maker, f"{schema}, {place} BIGINT" if place else schema)


def _maker(
    make: Callable[[int], Iterable[pa.RecordBatch]], numbers: Sequence[int], place: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def make_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                for rows in make(numbers[at]):
                    places = pa.array(np.full(len(rows), at)) if place else None
                    yield rows if places is None else rows.append_column(place, places)

    return make_all


def measure_files(session: SparkSession, files: Files, time_column: str) -> dict[str, Extent]:
    """As `SourceTools.measure` promises."""
    from pyspark.sql import functions as F

    micros = F.expr(f"UNIX_MICROS(`{time_column}`)")
    counts = [F.count("*"), F.count("*") - F.count(micros), F.min(micros), F.max(micros)]
    file = F.col("_metadata.file_path")
    try:
        rows = read_files(session, files).groupBy(file).agg(*counts).collect()
        return {_path(name): Extent(*extent) for name, *extent in rows}
    except Exception as error:
        raise OSError(short_reason(error)) from error


def _path(name: str) -> str:
    """The path of a file by the name that Spark has for it, with one slash in front or three."""
    return "/" + unquote(name.removeprefix("file:")).lstrip("/")


def unreadable_parts(
    ask_session: Callable[[], SparkSession],
    source: AnySource,
    portion: Input,
    columns: Sequence[str],
) -> dict[str, str]:
    """After a failed read: the parts of the input that cannot be read, and why.

    Spark is asked for only if the source itself gives what is to be read.
    """
    reasons = {}
    for name, part in source.parts(portion).items():
        try:
            rows = source.read(part, columns)
            frame_of(ask_session(), rows).write.format("noop").mode("overwrite").save()
        except Exception as error:
            reasons[name] = short_reason(error)
    return reasons


def short_reason(error: Exception) -> str:
    """The first sentence of a Spark error, without its trace."""
    text = str(error).strip()
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    line = (causes[-1].removeprefix("Caused by:") if causes else lines[0] if lines else "").strip()
    return _JAVA_CLASS.sub("", line.split("SQLSTATE")[0]).strip()[:300]


def _ddl(columns: Iterable[ColumnDef]) -> str:
    return ", ".join(f"`{column.name}` {column.type.sql}" for column in columns)
