"""Step 2: partial aggregates in Catalyst, once for all queries that share a synopsis.

Every row gets a verdict. Late, malformed and filtered rows are not dropped but grouped
by their verdict too, so the tick's accounts come out of the same aggregation as its
partials: exact, whatever Spark retries.

The frame is made from one SQL text: analysing it once takes a third of the time of
building it from columns, and that is most of what a small tick costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn

from tidemill.catalog import Stream
from tidemill.language.names import quote_name
from tidemill.plan.model import Scalar
from tidemill.synopsis.cells import SLICE
from tidemill.synopsis.model import Synopsis
from tidemill.windows import EdgeClass, pane_origin, pane_us

TIME = "_t"
CORRUPT = "_corrupt"
VERDICT, BUCKET, NEWEST = "_verdict", "_bucket", "_newest"
COUNTED, LATE, MALFORMED, FILTERED = 0, 1, 2, 3
# Beyond these the sum of a time and a window would leave 64 bits.
EARLIEST_US, LATEST_US = -(2**60), 2**60
# A row is compared with every class of edges; past this many a common pane is cheaper, and
# the fold cuts panes into slices.
MOST_CLASSES = 4


@dataclass(frozen=True)
class Admission:
    """What a tick judges its rows by, and where their time comes from."""

    stream: Stream
    watermark_us: int | None
    batch_time_us: int
    is_text: bool  # lines that may not parse

    @property
    def timed_items(self) -> tuple[str, ...]:
        """Select items that give every row its time in `_t`."""
        column = quote_name(self.stream.time_column)
        if not self.stream.stamped_on_arrival:
            micros = f"UNIX_MICROS({column})"
            # Out of range counts as none: the slice of such a time could not be computed.
            sane = f"{micros} BETWEEN {EARLIEST_US}L AND {LATEST_US}L"
            return (f"IF({sane}, {micros}, NULL) AS {TIME}",)
        some_column = quote_name(self.stream.stored_columns[0].name)
        stamp = tick_constant(self.batch_time_us, some_column)
        return f"{stamp} AS {TIME}", f"TIMESTAMP_MICROS({stamp}) AS {column}"

    @property
    def malformed_sql(self) -> str:
        """No event time, or a text that does not parse.

        Spark parses only the columns a plan asks for, so whether a line is malformed would
        depend on the queries; asking for every column (the sum is never negative) settles it.
        """
        if not self.is_text:
            return f"{TIME} IS NULL"
        names = [quote_name(column.name) for column in self.stream.stored_columns]
        parsed = " + ".join(f"INT({name} IS NULL)" for name in names)
        return f"{CORRUPT} IS NOT NULL OR {TIME} IS NULL OR ({parsed}) < 0"

    @property
    def late_sql(self) -> str:
        """The same text before there is a watermark as after, so that the code stays warm."""
        watermark_us = EARLIEST_US if self.watermark_us is None else self.watermark_us
        return f"{TIME} < {tick_constant(watermark_us, TIME)}"


def tick_constant(value: int, column: str) -> str:
    """A number that changes every tick, kept out of the generated code.

    Catalyst prints literals into the code it compiles, so a new watermark would mean new,
    cold code every tick (0.55 s a million rows against 0.35 s); arrays are passed by
    reference. The index only has to be one that Catalyst cannot fold.
    """
    return f"ARRAY({value}L, {value}L)[INT(ISNULL({column}))]"


def partials(
    session: SparkSession, rows: DataFrame, synopsis: Synopsis, admission: Admission, buckets: int
) -> DataFrame:
    """One partial row per (verdict, slice, keys) of the rows."""
    guarded = _guarded_columns(session, distinct_scalars(synopsis))
    view = f"_tidemill_{synopsis.id}"
    if guarded:
        # A guarded expression may read the arrival stamp, so the rows are timed first.
        rows = rows.selectExpr("*", *admission.timed_items).withColumns(guarded)
    rows.createOrReplaceTempView(view)
    return session.sql(partials_sql(synopsis, admission, buckets, view, bool(guarded)))


def partials_sql(
    synopsis: Synopsis, admission: Admission, buckets: int, view: str, is_timed: bool = False
) -> str:
    """Rows ⇒ timed ⇒ with values ⇒ judged ⇒ grouped ⇒ with buckets, inside out."""
    scalars = distinct_scalars(synopsis)
    items = [] if is_timed else admission.timed_items
    timed = f"SELECT {', '.join(['*', *items])} FROM {view}"
    valued = f"SELECT {', '.join(['*', *_values(scalars)])} FROM ({timed})"
    verdict = _verdict(synopsis, scalars, admission)
    judged = f"SELECT *, {verdict} AS {VERDICT} FROM ({valued})"
    groups = {SLICE: slice_sql(synopsis.classes)}
    groups |= {key.slot.name: _read(scalars, key.scalar) for key in synopsis.keys}
    if synopsis.where is not None:
        # Rows that fail WHERE are only counted: one group for all of them.
        passes = f"COALESCE({_read(scalars, synopsis.where)}, FALSE)"
        groups = {name: f"IF({passes}, {sql}, NULL)" for name, sql in groups.items()}
    columns = {**groups, **_aggregates(synopsis, scalars)}
    selected = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    by = ", ".join([VERDICT, *groups.values()])
    grouped = f"SELECT {VERDICT}, {selected} FROM ({judged}) GROUP BY {by}"
    return f"SELECT *, {_bucket(synopsis, buckets)} AS {BUCKET} FROM ({grouped})"


def distinct_scalars(synopsis: Synopsis) -> tuple[Scalar, ...]:
    """Every tuple-level expression of the synopsis, each once."""
    where = (synopsis.where,) if synopsis.where else ()
    keys = (key.scalar for key in synopsis.keys)
    arguments = (lane.argument for lane in synopsis.lanes if lane.argument)
    return tuple(dict.fromkeys((*where, *keys, *arguments)))


def stream_columns(synopsis: Synopsis) -> list[str]:
    """The columns of the stream that the synopsis reads."""
    scalars = distinct_scalars(synopsis)
    return list(dict.fromkeys(name for scalar in scalars for name in scalar.columns))


def slice_sql(classes: tuple[EdgeClass, ...]) -> str:
    """The start of the row's slice; of its pane when there are many classes of edges."""
    if len(classes) > MOST_CLASSES and _panes_pay(classes):
        return f"{TIME} - PMOD({TIME} - {pane_origin(classes)}L, {pane_us(classes)}L)"
    starts = [f"{TIME} - PMOD({TIME} - {c.offset_us}L, {c.period_us}L)" for c in classes]
    return starts[0] if len(starts) == 1 else f"GREATEST({', '.join(starts)})"


def _panes_pay(classes: tuple[EdgeClass, ...]) -> bool:
    """Panes are finer than slices; a few times more partial rows are still cheap."""
    edges_per_us = sum(1 / c.period_us for c in classes)
    return 1 / pane_us(classes) <= 8 * edges_per_us


def _values(scalars: tuple[Scalar, ...]) -> list[str]:
    """One item per expression and, where it may raise, one that says whether it did.

    A guarded expression has been put into a struct, which is never NULL by itself: a NULL
    one means that its field raised.
    """
    items = []
    for number, scalar in enumerate(scalars):
        if not scalar.guarded:
            items.append(f"{scalar.try_sql} AS {_value(number)}")
        if scalar.may_raise:
            items.append(f"{_raised(number, scalar)} AS {raised_column(number)}")
    return items


def _guarded_columns(session: SparkSession, scalars: tuple[Scalar, ...]) -> dict[str, Column]:
    """Values that may raise in ways no try_ form covers, and their flags, which may too."""
    columns = {}
    for number, scalar in enumerate(scalars):
        if scalar.guarded:
            columns[_value(number)] = guard(session, scalar.try_sql, TIME)
            columns[_flag(number)] = guard(session, scalar.raised_sql or "FALSE", TIME)
    return columns


def _raised(number: int, scalar: Scalar) -> str:
    if scalar.guarded:
        return f"{_value(number)} IS NULL OR COALESCE({_flag(number)}.value, FALSE)"
    return f"COALESCE({scalar.raised_sql}, FALSE)"


def raised_column(number: int) -> str:
    return f"_raised{number}"


def _value(number: int) -> str:
    return f"_x{number}"


def _flag(number: int) -> str:
    return f"_flag{number}"


def _read(scalars: tuple[Scalar, ...], scalar: Scalar) -> str:
    number = scalars.index(scalar)
    return f"{_value(number)}.value" if scalar.guarded else _value(number)


def guard(session: SparkSession, sql: str, column: str) -> Column:
    """The value of an expression in a struct, NULL where it raises.

    Catalyst's own catch-all, which SQL cannot name, catches what raises in a row. Constants
    are worked out while Spark plans, before any row; there errors pass only in a branch
    that may not be taken, so the expression stands in one. It always is: the condition only
    has to be one about a column, which Catalyst cannot see through.
    """
    jvm: Any = session._jvm
    expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils
    catch = jvm.org.apache.spark.sql.catalyst.expressions.TryEval
    inner: Any = F.expr(f"IF(INT(ISNULL({column})) < 2, STRUCT(({sql}) AS value), NULL)")
    return ClassicColumn(expressions.column(catch(expressions.expression(inner._jc))))


def _verdict(synopsis: Synopsis, scalars: tuple[Scalar, ...], admission: Admission) -> str:
    cases = [f"WHEN {admission.malformed_sql} THEN {MALFORMED}"]
    cases.append(f"WHEN {admission.late_sql} THEN {LATE}")
    if synopsis.where is not None:
        cases.append(f"WHEN NOT COALESCE({_read(scalars, synopsis.where)}, FALSE) THEN {FILTERED}")
    return f"CASE {' '.join(cases)} ELSE {COUNTED} END"


def _aggregates(synopsis: Synopsis, scalars: tuple[Scalar, ...]) -> dict[str, str]:
    columns = {NEWEST: f"MAX({TIME})"}
    for number, lane in enumerate(synopsis.lanes):
        value = _read(scalars, lane.argument) if lane.argument else "1"
        columns.update(zip(synopsis.lane_columns(number), lane.lift(value), strict=True))
    for number, scalar in enumerate(scalars):
        if scalar.may_raise:
            columns[raised_column(number)] = f"COUNT_IF({raised_column(number)})"
    return columns


def _bucket(synopsis: Synopsis, buckets: int) -> str:
    if not synopsis.keys:
        return "0"
    return f"INT(PMOD(HASH({', '.join(synopsis.key_columns)}), {buckets}))"
