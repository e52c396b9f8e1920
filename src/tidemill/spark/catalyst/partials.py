"""Step 2: partial aggregates in Catalyst, in one pass over the rows for one feed or several.

Every row gets a verdict. Late, malformed and filtered rows are not dropped but grouped
by their verdict too, so the tick's accounts come out of the same aggregation as its
partials: exact, whatever Spark retries.

The frame is made from one SQL text: analysing it once takes a third of the time of
building it from columns, and that is most of what a small tick costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tidemill.ids import fingerprint
from tidemill.plan.predicates import WORD_BITS, signature_sql
from tidemill.scan.contract import (
    COUNTED,
    FILTERED,
    LATE,
    MALFORMED,
    Admission,
    Pass,
    own_bits,
    passes_of,
)
from tidemill.spark.catalyst.admission import TIME, late_sql, malformed_sql, timed_items
from tidemill.spark.catalyst.joins import Tables, with_tables
from tidemill.spark.catalyst.signature import with_lookups
from tidemill.spark.catalyst.slices import slice_sql, wants_lookup, with_slices
from tidemill.spark.catalyst.values import guarded_columns, raised_column, read_value, value_items
from tidemill.state.feed import Feed, Scan
from tidemill.state.pieces import SLICE
from tidemill.windows import EdgeClass

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VERDICT, OLDEST, NEWEST, SET = "_verdict", "_oldest", "_newest", "_set"
# Of the 64 bits of Spark's GROUPING_ID all but the sign.
_MOST_GROUP_COLUMNS = 63


def partials(
    session: SparkSession, rows: DataFrame, one_pass: CatalystPass, tables: Tables
) -> DataFrame:
    """One partial row per (verdict, slice, keys, signature) of the rows, for each of the feeds."""
    admission, looked_up = one_pass.admission, False
    if one_pass.looks_up_slices:
        timed = rows.selectExpr("*", *timed_items(admission))
        sliced = with_slices(timed, one_pass.classes, admission)
        looked_up = sliced is not None
        rows = rows if sliced is None else sliced.drop(TIME)
    signed = signed_rows(rows, one_pass.scan, admission, one_pass.name, tables)
    return session.sql(one_pass.sql(signed, looked_up))


@dataclass(frozen=True)
class CatalystPass(Pass):
    """A pass over a tick's rows: ⇒ timed ⇒ joined ⇒ with values ⇒ signed ⇒ judged ⇒ grouped.

    Several feeds are the grouping sets of one aggregation, told apart by `_set`.
    """

    name: str
    admission: Admission

    @cached_property
    def classes(self) -> tuple[EdgeClass, ...]:
        return self.edge_classes(self.admission.since_us)

    @property
    def looks_up_slices(self) -> bool:
        """True if the rows' times are read once before the pass."""
        return not self.admission.stream.stamped_on_arrival and wants_lookup(self.classes)

    def sql(self, signed: str, looked_up: bool = False) -> str:
        """The whole pass as one text, inside out, over rows that are timed and signed."""
        judged = f"SELECT *, {self._verdict()} AS {VERDICT} FROM ({signed})"
        keyed = f"SELECT *, {', '.join(self._keys(looked_up))} FROM ({judged})"
        return f"SELECT {', '.join(self._selected())} FROM ({keyed}) GROUP BY {self._sets()}"

    def _passes(self) -> str:
        """SQL that holds for a row that some feed keeps."""
        if self.keeps_all:
            return "TRUE"
        words = " | ".join(word_columns(self.scan))
        return f"({words}) <> 0L" if words else "FALSE"

    def _verdict(self) -> str:
        cases = [f"WHEN {malformed_sql(self.admission)} THEN {MALFORMED}"]
        cases.append(f"WHEN {late_sql(self.admission)} THEN {LATE}")
        if (passes := self._passes()) != "TRUE":
            cases.append(f"WHEN NOT ({passes}) THEN {FILTERED}")
        return f"CASE {' '.join(cases)} ELSE {COUNTED} END"

    def _keys(self, looked_up: bool) -> Iterator[str]:
        """The items to group by. Rows that no feed keeps are one group, for the accounts."""
        items = {SLICE: slice_sql(self.classes, looked_up) if self.classes else "0L"}
        for place, scalar in enumerate(self.scan.keys):
            items[f"_f{place}"] = read_value(self.scan.scalars, scalar)
        for place, scalar in enumerate(self.scan.values):
            items[f"_by{place}"] = read_value(self.scan.scalars, scalar)
        for number, feed in enumerate(self.feeds):
            items |= dict(self._words(number, feed))
        passes = self._passes()
        for name, sql in items.items():
            yield f"{sql} AS {name}" if passes == "TRUE" else f"IF({passes}, {sql}, NULL) AS {name}"

    def _words(self, number: int, feed: Feed) -> Iterator[tuple[str, str]]:
        """The names and SQL of a feed's words; alone in its pass it takes those of the scan."""
        for word, mask in enumerate(own_bits(feed)):
            if len(self.feeds) == 1:
                yield feed.signature_columns[word], f"_v{word}"
            else:
                yield f"_s{number}_{word}", f"_v{word} & {mask}L"

    def _set(self, number: int) -> tuple[str, ...]:
        """The columns that one feed is grouped by."""
        feed = self.feeds[number]
        values = (f"_by{place}" for place in range(len(self.scan.values)))
        words = (name for name, _ in self._words(number, feed))
        return (VERDICT, SLICE, *feed.key_columns, *values, *words)

    def _group_columns(self) -> tuple[str, ...]:
        sets = [self._set(number) for number in range(len(self.feeds))]
        return tuple(dict.fromkeys(name for columns in sets for name in columns))

    def _sets(self) -> str:
        sets = [", ".join(self._set(number)) for number in range(len(self.feeds))]
        if len(sets) == 1:
            return sets[0]
        # Feeds that are grouped alike read the same rows; a set given twice would give them twice.
        return f"GROUPING SETS ({', '.join(f'({columns})' for columns in dict.fromkeys(sets))})"

    def _selected(self) -> Iterator[str]:
        yield from self._group_columns()
        if len(self.feeds) > 1:
            yield f"GROUPING_ID({', '.join(self._group_columns())}) AS {SET}"
        yield f"MIN({TIME}) AS {OLDEST}"
        yield f"MAX({TIME}) AS {NEWEST}"
        for number, lane in enumerate(self.scan.lanes):
            values = [read_value(self.scan.scalars, scalar) for scalar in lane.arguments]
            lifted = zip(lane.lift_sql(values, TIME), self.scan.lane_columns(number), strict=True)
            yield from (f"{sql} AS {name}" for sql, name in lifted)
        for number, scalar in enumerate(self.scan.scalars):
            if scalar.may_raise:
                yield f"COUNT_IF({raised_column(number)}) AS {raised_column(number)}"

    def feed_rows(self, number: int, rows: pa.Table) -> pa.Table:
        """The partial rows of one feed, under the names that the feed gives them."""
        if len(self.feeds) == 1:
            return rows
        feed, columns = self.feeds[number], self._group_columns()
        absent = [n for n, name in enumerate(reversed(columns)) if name not in self._set(number)]
        partials = rows.filter(pc.equal(rows.column(SET), sum(1 << place for place in absent)))
        names = {f"_s{number}_{name[2:]}": name for name in feed.signature_columns}
        return partials.rename_columns([names.get(name, name) for name in partials.column_names])


def word_columns(scan: Scan) -> tuple[str, ...]:
    """The words of a row's signature, one bit for each predicate that holds."""
    return tuple(f"_v{word}" for word in range(-(-len(scan.predicates) // WORD_BITS)))


def signed_rows(
    rows: DataFrame, scan: Scan, admission: Admission, name: str, tables: Tables | None = None
) -> str:
    """SQL for the rows with their time, every value that the scan needs, and their signature.

    Tables, and what SQL cannot say, lookups and guards, are put into the rows behind the view.
    """
    session, view = rows.sparkSession, f"_tidemill_{name}"
    bits = dict(enumerate(scan.predicates))
    signature = signature_sql(bits, lambda scalar: read_value(scan.scalars, scalar))
    compared = [before for join in scan.relation.joins for before in join.befores]
    rest = [scalar for scalar in scan.scalars if scalar not in compared]
    guarded = guarded_columns(session, scan.scalars, rest)
    items = timed_items(admission)
    if guarded or signature.lookups or scan.relation.joins:
        # All of them may read the arrival stamp, so the rows are timed first.
        rows = rows.selectExpr("*", *items)
        rows = with_tables(rows, scan, tables) if tables else rows
        rows = with_lookups(rows, signature.lookups).withColumns(guarded)
        items = ()
    rows.createOrReplaceTempView(view)
    words = [
        f"{sql} AS {word}" for sql, word in zip(signature.words, word_columns(scan), strict=True)
    ]
    signed = view
    for level in (items, value_items(scan.scalars), words):
        signed = f"(SELECT {', '.join(['*', *level])} FROM {signed})" if level else signed
    return f"SELECT * FROM {signed}"


def catalyst_passes(feeds: Sequence[Feed], admission: Admission) -> tuple[CatalystPass, ...]:
    """The passes of these feeds, each cut into as many as Spark tells grouping sets apart in."""
    name = fingerprint([str(admission.stream.key)])
    runs = (run for one_pass in passes_of(feeds) for run in _runs(one_pass.feeds))
    return tuple(
        CatalystPass(run, f"{name}_{number}", admission) for number, run in enumerate(runs)
    )


def _runs(feeds: Sequence[Feed]) -> Iterator[tuple[Feed, ...]]:
    """Runs of feeds that are grouped by no more columns than an id has bits."""
    run: list[Feed] = []
    for feed in feeds:
        if run and _group_columns([*run, feed]) > _MOST_GROUP_COLUMNS:
            yield tuple(run)
            run = []
        run.append(feed)
    yield tuple(run)


def _group_columns(feeds: Sequence[Feed]) -> int:
    """Verdict, slice, everybody's keys, and each feed's own words."""
    keys = {name for feed in feeds for name in feed.key_columns}
    values = len(feeds[0].scan.values)
    return 2 + len(keys) + values + sum(len(feed.signature_columns) for feed in feeds)
