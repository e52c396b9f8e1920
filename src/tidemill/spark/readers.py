"""The rows of an input as a DataFrame, from what their source says of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from tidemill.connect.sources.contract import (
    AnySource,
    ArrowBlocks,
    Extent,
    Files,
    Input,
    InputRows,
)
from tidemill.language.statements import ColumnDef
from tidemill.spark.catalyst.admission import CORRUPT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_JAVA_CLASS = re.compile(r"^([\w$]+\.)+[\w$]+: |^\[[A-Z_.]+\] ")


def frame_of(session: SparkSession, reading: InputRows) -> DataFrame:
    """The rows: the columns of the reading, and `_corrupt` for text. Lazy and repeatable."""
    if isinstance(reading, Files):
        return read_files(session, reading)
    return _read_blocks(session, reading)


def read_files(session: SparkSession, files: Files) -> DataFrame:
    """Text is parsed permissively, and a bad line stands in `_corrupt`."""
    # A path is a name, never a pattern: folders may be called "a[1]".
    reader = session.read.format(files.format).option("__globPaths__", "false")
    for key, value in files.options.items():
        reader = reader.option(key, value)
    schema = _ddl(files.columns)
    if files.is_text:
        schema += f", {CORRUPT} STRING"
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", CORRUPT)
    if files.options.get("header", "").lower() == "true":
        reader = reader.option("enforceSchema", "false")
    rows = reader.schema(schema).load([f"file:{path}" for path in files.paths])
    return rows.where(files.where) if files.where else rows


def _read_blocks(session: SparkSession, reading: ArrowBlocks) -> DataFrame:
    """The blocks made on the executors."""
    numbers = reading.numbers
    parts = min(len(numbers), session.sparkContext.defaultParallelism)
    frame = session.range(numbers.start, numbers.stop, 1, parts)
    return frame.mapInArrow(_maker(reading.make), _ddl(reading.columns))


def _maker(
    make: Callable[[int], Iterable[pa.RecordBatch]],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def make_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from make(number)

    return make_all


def measure_files(session: SparkSession, files: Files, time_column: str) -> Extent:
    """As `SourceTools.measure` promises."""
    from pyspark.sql import functions as F

    micros = F.expr(f"UNIX_MICROS(`{time_column}`)")
    counts = [F.count("*"), F.min(micros), F.max(micros)]
    try:
        return Extent(*read_files(session, files).agg(*counts).collect()[0])
    except Exception as error:
        raise OSError(short_reason(error)) from error


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
