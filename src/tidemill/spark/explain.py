"""EXPLAIN SPARK: who makes the partials, and the plan of each pass as Spark prints it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidemill.catalog import Stream
from tidemill.connect.sources import AnySource, Input
from tidemill.connect.sources.parts import array_parts
from tidemill.errors import refuse
from tidemill.scan.arrays.program import write_program
from tidemill.scan.contract import Admission
from tidemill.scan.routes import divide_feeds, hindrance
from tidemill.settings import Settings
from tidemill.spark.catalyst.joins import Tables
from tidemill.spark.catalyst.partials import catalyst_passes, partials
from tidemill.spark.catalyst.row_pass import catalyst_row_passes, row_frame, with_arrival
from tidemill.spark.rows import read_rows
from tidemill.state.feed import Feed
from tidemill.state.row_pieces import RowFeed

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
    row_feeds: Sequence[RowFeed] = (),
) -> str:
    """The route of a tick over some input of the source, and the passes of the feeds shown."""
    portion = source.any_input(settings)
    if portion is None:
        refuse("E_SOURCE", f"stream {stream.name} has no input yet, so there is no plan to show")
    scans = [*(feed.scan for feed in shown), *(feed.scan for feed in row_feeds)]
    columns = [name for scan in scans for name in scan.columns]
    rows = read_rows(session, stream, source, portion, columns)
    admission = Admission(stream, 0, 0, source.is_text)
    frames = [partials(session, rows, p, tables) for p in catalyst_passes(shown, admission)]
    for one_pass in catalyst_row_passes(row_feeds, admission):
        timed = with_arrival(rows) if one_pass.is_ordered else rows
        frames.append(row_frame(session, timed, one_pass, tables))
    plain = divide_feeds(stream, feeds, settings.scan).by_arrays
    reason = hindrance(stream, shown, settings.scan, row_feeds) or _hindrance_in_files(
        stream, plain, source, portion
    )
    plans = (_explained(session, frame) for frame in frames)
    return "\n\n".join((_sentence(stream, reason, bool(shown)), *plans))


def _hindrance_in_files(
    stream: Stream, plain: Sequence[Feed], source: AnySource, portion: Input
) -> str:
    """Arrays make the partials of all feeds that they can serve, or of none in a tick."""
    parts = array_parts(write_program(stream, plain), source, portion)
    return "" if parts is not None else "the files do not hold just what is declared"


def _sentence(stream: Stream, reason: str, has_windows: bool) -> str:
    makes, make = ("makes the partials", "make the partials")
    if not has_windows:
        makes, make = ("picks the rows", "pick the rows")
    if reason:
        who = f"Spark {makes} by the plan below, not arrays: {reason}"
    else:
        who = f"arrays {make}, in place of the plan below; that is for files which"
        who += " do not hold just what is declared"
    return f"stream {stream.name}: {who}"


def _explained(session: SparkSession, frame: DataFrame) -> str:
    jvm: Any = session._jvm
    text = jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted")
    return str(text).strip()
