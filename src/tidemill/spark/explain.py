"""EXPLAIN SPARK: who makes the partials, and the plan of each pass as Spark prints it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidemill.catalog import Stream
from tidemill.connect.sources import AnySource, Input
from tidemill.connect.sources.parts import array_parts
from tidemill.errors import refuse
from tidemill.scan.arrays.program import write_program
from tidemill.scan.contract import Admission, Terms
from tidemill.scan.routes import divide_feeds, hindrance
from tidemill.settings import Settings
from tidemill.spark.catalyst.joins import Tables
from tidemill.spark.catalyst.partials import catalyst_passes, partials
from tidemill.spark.rows import read_rows
from tidemill.state.feed import Feed
from tidemill.time import Register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def explain_partials(
    session: SparkSession,
    stream: Stream,
    source: AnySource,
    feeds: Sequence[Feed],
    shown: Sequence[Feed],
    settings: Settings,
    tables: Tables,
) -> str:
    """The route of a tick over some input of the source, and the passes of the feeds shown."""
    portion = source.any_input(settings)
    if portion is None:
        refuse("E_SOURCE", f"stream {stream.name} has no input yet, so there is no plan to show")
    columns = [name for feed in shown for name in feed.scan.columns]
    rows = read_rows(session, stream, source, portion, columns)
    passes = catalyst_passes(
        shown, Admission(stream, Terms(Register(promised_us=0)), 0, source.is_text)
    )
    plans = (_explained(session, partials(rows, p, tables)) for p in passes)
    plain = divide_feeds(stream, feeds, settings.scan).by_arrays
    reason = hindrance(stream, shown, settings.scan) or _hindrance_in_files(
        stream, plain, source, portion
    )
    return "\n\n".join((_sentence(stream, reason), *plans))


def _hindrance_in_files(
    stream: Stream, plain: Sequence[Feed], source: AnySource, portion: Input
) -> str:
    """Arrays make the partials of all feeds that they can serve, or of none in a tick."""
    parts = array_parts(write_program(stream, plain), source, portion)
    return "" if parts is not None else "the files do not hold just what is declared"


def _sentence(stream: Stream, reason: str) -> str:
    if reason:
        who = f"Spark makes the partials by the plan below, not arrays: {reason}"
    else:
        who = "arrays make the partials, in place of the plan below; that is for files which"
        who += " do not hold just what is declared"
    return f"stream {stream.name}: {who}"


def _explained(session: SparkSession, frame: DataFrame) -> str:
    jvm: Any = session._jvm
    text = jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted")
    return str(text).strip()
