"""Rows that leave as they are, picked in Catalyst: one pass for all row feeds of a relation.

Catalyst works out every value once per row and lets through the rows that some feed takes, and
those on which a condition raised, to be counted. Whoever gets them, the driver or a task, tells
by the signature whose they are and writes the pieces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.arrays import BoolArray
from tidemill.ids import fingerprint
from tidemill.language.names import quote_name
from tidemill.plan.expressions import Scalar
from tidemill.plan.predicates import WORD_BITS
from tidemill.plan.relation import Relation, multiplying
from tidemill.scan.contract import Admission, FoldPlace, FoldReport, PickedRows, read_report
from tidemill.scan.routes import CATALYST
from tidemill.spark.catalyst.admission import TIME, correcting_sql, late_sql, malformed_sql
from tidemill.spark.catalyst.joins import Tables
from tidemill.spark.catalyst.partials import signed_rows, word_columns
from tidemill.spark.catalyst.values import raised_column, read_value
from tidemill.spark.jobs import Workplace, WorkSize, workplace_of
from tidemill.state.feed import Scan, merge_scans
from tidemill.state.row_pieces import RowFeed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Where a row stands in the input: its file, the part of that, and its number in the part.
_FILE, _PART, _NUMBER = "_file", "_part", "_number"
_ARRIVAL = (_FILE, _PART, _NUMBER)
# True for a row that corrects, so that it leaves in no order of time.
_CORRECTING = "_correcting"


@dataclass(frozen=True)
class CatalystRowPass:
    """Row feeds of one relation, and the terms on which rows are judged."""

    feeds: tuple[RowFeed, ...]
    name: str
    admission: Admission
    paths: tuple[str, ...]  # of the files of the input, in the order in which they came

    @cached_property
    def scan(self) -> Scan:
        merged = merge_scans(feed.scan for feed in self.feeds)
        return replace(merged, predicates=()) if self.condition else merged

    @cached_property
    def condition(self) -> str:
        """WHERE in Spark's own words, which it can take to the files; empty if there is more to
        find out of a row than whether one query takes it."""
        query = self.feeds[0].query
        if len(self.feeds) > 1 or any(scalar.may_raise for scalar in query.conditions):
            return ""
        partners = (join.partner.name for join in query.relation.joins)
        parts = [quote_name(name) for name in partners if name in query.predicate.columns]
        parts += [query.where.try_sql] if query.where else []
        return " AND ".join(f"({part})" for part in parts) or "TRUE"

    @cached_property
    def is_ordered(self) -> bool:
        """True if it matters in which order rows came."""
        return any(feed.query.ordered for feed in self.feeds)

    @cached_property
    def correcting(self) -> str:
        """SQL for what tells rows that correct from timely ones, where that matters."""
        return correcting_sql(self.admission) if self.is_ordered else ""

    @cached_property
    def conditions(self) -> tuple[Scalar, ...]:
        """What may raise before it is known who takes a row."""
        return tuple(dict.fromkeys(scalar for feed in self.feeds for scalar in feed.tested))

    def sql(self, signed: str) -> str:
        """The rows that leave, with their values, over rows that are timed and signed.

        Few leave, as a rule, and to find the bound of a row's arrival is dear: it comes last.
        """
        judged = f"NOT ({malformed_sql(self.admission)}) AND NOT ({late_sql(self.admission)})"
        return (
            f"SELECT {', '.join(self._items())} FROM ({signed}) WHERE {self._leaves()} AND {judged}"
        )

    def _leaves(self) -> str:
        if self.condition:
            return self.condition
        if any(not feed.predicates for feed in self.feeds):
            return "TRUE"
        words = " | ".join(word_columns(self.scan))
        flags = [self._flag(scalar) for scalar in self.conditions]
        return f"({' OR '.join([f'({words}) <> 0L', *flags])})"

    def _items(self) -> Iterator[str]:
        yield TIME
        yield from word_columns(self.scan)
        yield from (_ARRIVAL if self.is_ordered else ())
        yield from ([f"{self.correcting} AS {_CORRECTING}"] if self.correcting else ())
        for number, scalar in enumerate(self.scan.keys):
            yield f"{read_value(self.scan.scalars, scalar)} AS _c{number}"
        yield from (self._flag(scalar) for scalar in self.scan.scalars if scalar.may_raise)

    def _flag(self, scalar: Scalar) -> str:
        return raised_column(self.scan.scalars.index(scalar))

    def picked(self, rows: pa.Table) -> Iterator[PickedRows]:
        """The rows of each feed, in the order in which they came where that matters."""
        if self.is_ordered:
            rows = _numbered_files(rows, self.paths)
            rows = rows.sort_by([(name, "ascending") for name in _ARRIVAL])
        times_us = rows.column(TIME).to_numpy()
        for feed in self.feeds:
            is_taken = self._takes(feed, rows)
            if is_taken.all():
                yield PickedRows(feed, self._columns(feed, rows), times_us)
            elif is_taken.any():
                chosen = self._columns(feed, rows).filter(pa.array(is_taken))
                yield PickedRows(feed, chosen, times_us[is_taken])

    def _takes(self, feed: RowFeed, rows: pa.Table) -> BoolArray:
        is_taken = np.ones(len(rows), np.bool_)
        if feed.query.ordered and self.correcting:
            is_taken = ~rows.column(_CORRECTING).to_numpy()
        for predicate in feed.predicates if not self.condition else ():
            bit = self.scan.bit(predicate)
            words = rows.column(word_columns(self.scan)[bit // WORD_BITS]).to_numpy()
            is_taken &= (words >> bit % WORD_BITS & 1).astype(np.bool_)
        return is_taken

    def _columns(self, feed: RowFeed, rows: pa.Table) -> pa.Table:
        places = {scalar.sql: place for place, scalar in enumerate(self.scan.keys)}
        names = [f"_c{places[column.scalar.sql]}" for column in feed.query.columns]
        return rows.select(names).rename_columns(feed.schema.names).cast(feed.schema)

    def raised(self, rows: pa.Table) -> dict[str, int]:
        """By row feed, the values that raised: in conditions, and in columns of rows it takes."""
        if not any(scalar.may_raise for scalar in self.scan.scalars):
            return {}
        counts = {feed.id: self._raised_for(feed, rows) for feed in self.feeds}
        return {key: count for key, count in counts.items() if count}

    def _raised_for(self, feed: RowFeed, rows: pa.Table) -> int:
        taken_rows = rows.filter(pa.array(self._takes(feed, rows)))
        counts = [pc.sum(rows.column(self._flag(s))).as_py() or 0 for s in feed.tested]
        counts += [pc.sum(taken_rows.column(self._flag(s))).as_py() or 0 for s in feed.selected]
        return sum(counts)


def catalyst_row_passes(
    feeds: Sequence[RowFeed], admission: Admission, paths: Sequence[str] = ()
) -> tuple[CatalystRowPass, ...]:
    """One pass for all feeds whose tables leave the rows as many."""
    by_relation: dict[Relation, list[RowFeed]] = {}
    for feed in feeds:
        by_relation.setdefault(multiplying(feed.query.relation), []).append(feed)
    name = fingerprint([str(admission.stream.key), "rows"])
    return tuple(
        CatalystRowPass(tuple(group), f"{name}_{number}", admission, tuple(paths))
        for number, group in enumerate(by_relation.values())
    )


def row_frame(rows: DataFrame, one_pass: CatalystRowPass, tables: Tables) -> DataFrame:
    """The rows that leave, with what is needed to tell whose they are."""
    scan, admission = one_pass.scan, one_pass.admission
    signed = signed_rows(rows, scan, admission, one_pass.name, tables, (scan.relation,))
    return rows.sparkSession.sql(one_pass.sql(signed))


def with_arrival(rows: DataFrame) -> DataFrame:
    """The rows with their place in the input, which Spark reads in an order of its own."""
    items = {
        _FILE: "INPUT_FILE_NAME()",
        _PART: "INPUT_FILE_BLOCK_START()",
        _NUMBER: "MONOTONICALLY_INCREASING_ID()",
    }
    return rows.selectExpr("*", *(f"{sql} AS {name}" for name, sql in items.items()))


def _numbered_files(rows: pa.Table, paths: Sequence[str]) -> pa.Table:
    """With the place of each row's file among the paths, which Spark names as an address."""
    files = rows.column(_FILE).combine_chunks().dictionary_encode()
    numbers = {path: number for number, path in enumerate(paths)}
    places = [
        numbers.get(unquote(urlsplit(name).path), -1) for name in files.dictionary.to_pylist()
    ]
    column = pa.array(places, pa.int64()).take(files.indices)
    return rows.set_column(rows.column_names.index(_FILE), _FILE, column)


def rows_in_catalyst(
    frames: Sequence[tuple[CatalystRowPass, DataFrame]], place: FoldPlace, work: WorkSize
) -> FoldReport:
    """Write the pieces of all row feeds: here if they are few or have an order, else there."""
    total = FoldReport(scanned_by=CATALYST)
    for one_pass, frame in frames:
        is_there = workplace_of(work) is Workplace.JOB and not one_pass.is_ordered
        reports = (
            _write_there(one_pass, frame, place)
            if is_there
            else [_report(one_pass, place, frame.toArrow())]
        )
        for report in reports:
            total = total.joined(report)
    return total


def _write_there(
    one_pass: CatalystRowPass, frame: DataFrame, place: FoldPlace
) -> Iterator[FoldReport]:
    written = frame.mapInArrow(_writer(one_pass, place), "report STRING")
    for row in written.toArrow().to_pylist():
        yield read_report(json.loads(row["report"]))


def _writer(
    one_pass: CatalystRowPass, place: FoldPlace
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if tables:
            report = _report(one_pass, place, pa.concat_tables(tables))
            texts = pa.array([json.dumps(asdict(report))])
            yield pa.RecordBatch.from_arrays([texts], ["report"])

    return write


def _report(one_pass: CatalystRowPass, place: FoldPlace, rows: pa.Table) -> FoldReport:
    """The pieces of some rows; who took them is counted by another pass."""
    pieces = place.write_rows(one_pass.picked(rows))
    return FoldReport(pieces, raised_in_rows=one_pass.raised(rows), scanned_by=CATALYST)
