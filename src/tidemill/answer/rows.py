"""Answer rows as tables: split by query in each bucket, merged over buckets, staged.

A table of a batch's answers has the number of the query, the window's bounds and the outputs;
where there is an order, also the columns to order by, the keys to break ties, and a flag for
rows in which something raised.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.answer.ordering import top_per_window
from tidemill.answer.request import AnswerRequest, Evaluations, QueryBatch
from tidemill.answer.shapes import Shape
from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.query import WINDOW_END, WINDOW_START
from tidemill.plan.row_query import AnyQuery, RowQuery
from tidemill.state.row_pieces import row_schema
from tidemill.types import TIMESTAMP

QUERY, RAISED = "_query", "_raised"


@dataclass(frozen=True)
class EvaluatedRows:
    """The rows of all evaluations, those of each one after the other.

    Errors in select lists are kept by output, because a query minds only those of outputs
    that it selects. Rows of an ordered shape bear their errors as flags, because the merge
    of buckets drops some of them.
    """

    counts: IntArray  # rows, by evaluation
    first: IntArray  # the first of them, by evaluation
    raised: IntArray  # by evaluation, errors that neither a row's flag nor an output has
    columns: Mapping[str, pa.Array]  # empty if rows were only to be counted
    flags: BoolArray  # by row, true if anything but the select list raised
    raised_rows: Mapping[int, Sequence[IntArray]]  # by output, the rows in which it raised

    def raised_in(self, outputs: Sequence[int]) -> BoolArray | None:
        """By row, true if one of the outputs raised; None if that is nowhere."""
        rows = [rows for output in outputs for rows in self.raised_rows.get(output, ())]
        return marked(rows, len(self.flags)) if rows else None


@dataclass(frozen=True)
class BucketAnswers:
    """The answers of one bucket to a window request.

    `rows` has window bounds, outputs and hidden columns, query after query. It is None if
    answers were only counted, or staged: then `staged` names the file that has them.
    """

    counts: IntArray  # by query
    raised: IntArray  # by query
    rows: pa.Table | None = None
    staged: str = ""


@dataclass(frozen=True)
class MergedAnswers:
    """A batch's answers from all buckets: query after query, as they are delivered."""

    rows: pa.Table  # window bounds and outputs
    counts: IntArray  # by query
    raised: IntArray  # by query, in rows that carried their flags


def marked(rows: Sequence[IntArray], count: int) -> BoolArray:
    """BoolArray of so many rows, true at those named."""
    marks = np.zeros(count, dtype=np.bool_)
    for places in rows:
        marks[places] = True
    return marks


def output_name(number: int) -> str:
    return f"_c{number}"


def order_name(number: int) -> str:
    return f"_o{number}"


def tie_name(number: int) -> str:
    return f"_t{number}"


def bound_columns(query: IntArray, starts: IntArray, ends: IntArray) -> pa.Table:
    """The first columns of a table of answers."""
    bounds = {WINDOW_START.name: starts, WINDOW_END.name: ends}
    columns = {name: pa.array(values).view(TIMESTAMP.arrow) for name, values in bounds.items()}
    return pa.table({QUERY: pa.array(query), **columns})


def evaluated_schema(shape: Shape) -> pa.Schema:
    """The columns that come of evaluating a shape: outputs, and what rows are ordered by."""
    fields = [(output_name(n), node.type.arrow) for n, node in enumerate(shape.outputs)]
    if shape.is_ordered:
        fields += [(order_name(n), o.node.type.arrow) for n, o in enumerate(shape.order_by)]
        fields += [(tie_name(n), key.slot.type.arrow) for n, key in enumerate(shape.keys)]
    return pa.schema(fields)


def split_by_query(
    request: AnswerRequest, evaluations: Evaluations, evaluated: EvaluatedRows
) -> Iterator[tuple[int, BucketAnswers]]:
    """The place of each window request, and its answers: every window's rows to its owner."""
    split = _Split(request, evaluations, evaluated)
    for number, place in enumerate(request.places):
        yield place, split.answers(number)


class _Split:
    def __init__(
        self, request: AnswerRequest, evaluations: Evaluations, evaluated: EvaluatedRows
    ) -> None:
        self._request, self._evaluations, self._evaluated = request, evaluations, evaluated
        batch, of_window, owner = evaluations.batch, evaluations.of_window, evaluations.owner
        self._is_ordered = batch.shape.is_ordered
        self._lengths = np.minimum(evaluated.counts[of_window], batch.limits[owner])
        self._counts, self._raised = (
            np.bincount(owner, weights=values, minlength=len(batch)).astype(np.int64)
            for values in (self._lengths, evaluated.raised[of_window])
        )
        self._windows = np.searchsorted(owner, request.first)

    def answers(self, number: int) -> BucketAnswers:
        """Those of one window request."""
        queries = slice(self._request.first[number], self._request.first[number + 1])
        windows = slice(self._windows[number], self._windows[number + 1])
        in_outputs = self._evaluated.raised_in(self._request.outputs[number])
        marks = self._marks(in_outputs)
        counts, raised = self._counts[queries], self._raised[queries]
        if marks is not None:
            raised = raised + self._raised_in(marks, queries, windows)
        if not self._request.makes_rows:
            return BucketAnswers(counts, raised)
        return BucketAnswers(counts, raised, self._rows(number, queries, windows, in_outputs))

    def _marks(self, in_outputs: BoolArray | None) -> BoolArray | None:
        """The rows that raised and are not counted yet, nor bear flags to be counted by."""
        flags = self._evaluated.flags
        if not self._is_ordered:
            return None if in_outputs is None else in_outputs & ~flags
        if self._request.makes_rows:
            return None
        return flags if in_outputs is None else in_outputs | flags

    def _raised_in(self, marks: BoolArray, queries: slice, windows: slice) -> IntArray:
        """By query, how many of its rows are marked."""
        before = np.concatenate([[0], np.cumsum(marks)])
        of_window, lengths = self._evaluations.of_window[windows], self._lengths[windows]
        first = self._evaluated.first[of_window]
        counts = before[first + lengths] - before[first]
        owner = self._evaluations.owner[windows] - queries.start
        return np.bincount(owner, counts, queries.stop - queries.start).astype(np.int64)

    def _rows(
        self, number: int, queries: slice, windows: slice, in_outputs: BoolArray | None
    ) -> pa.Table:
        evaluations, lengths = self._evaluations, self._lengths[windows]
        behind = evaluations.of_window[windows]
        rows = np.repeat(self._evaluated.first[behind] - (np.cumsum(lengths) - lengths), lengths)
        rows += np.arange(len(rows))
        owner = evaluations.owner[windows] - queries.start
        bounds = owner, evaluations.starts[behind], evaluations.ends[behind]
        table = bound_columns(*(np.repeat(column, lengths) for column in bounds))
        places = pa.array(rows)
        for name, column in self._columns(number).items():
            table = table.append_column(name, column.take(places))
        if self._is_ordered:
            flags = self._evaluated.flags
            flags = flags if in_outputs is None else flags | in_outputs
            table = table.append_column(RAISED, pa.array(flags[rows]))
        return table

    def _columns(self, number: int) -> dict[str, pa.Array]:
        """The columns of a window request: its outputs, renumbered, and the hidden ones."""
        columns, outputs = self._evaluated.columns, self._request.outputs[number]
        selected = {output_name(n): columns[output_name(o)] for n, o in enumerate(outputs)}
        every = {output_name(n) for n in range(len(self._evaluations.batch.shape.outputs))}
        hidden = {name: column for name, column in columns.items() if name not in every}
        return selected | hidden


def merge_buckets(batch: QueryBatch, tables: Sequence[pa.Table]) -> MergedAnswers:
    """The rows of all buckets by query, in order and cut to LIMIT where there is one."""
    rows = pa.concat_tables([_bucket_schema(batch.shape).empty_table(), *tables])
    query = rows.column(QUERY).to_numpy()
    raised = np.zeros(len(batch), dtype=np.int64)
    if batch.shape.is_ordered:
        order = _top(batch, rows, query)
        flags = np.asarray(rows.column(RAISED).to_numpy())[order]
        raised = np.bincount(query[order][flags], minlength=len(batch))
    else:
        order = np.argsort(query, kind="stable")
    counts = np.bincount(query[order], minlength=len(batch))
    if not np.array_equal(order, np.arange(len(rows))):
        rows = rows.take(pa.array(order))
    return MergedAnswers(_visible(batch, rows), counts, raised)


def answer_schema(plan: AnyQuery) -> pa.Schema:
    """The columns that a query's answers have."""
    if isinstance(plan, RowQuery):
        return row_schema(plan)
    bounds = [(slot.name, slot.type.arrow) for slot in (WINDOW_START, WINDOW_END)]
    return pa.schema([*bounds, *((o.name, o.node.type.arrow) for o in plan.outputs)])


def _bucket_schema(shape: Shape) -> pa.Schema:
    none = np.zeros(0, dtype=np.int64)
    fields = [*bound_columns(none, none, none).schema, *evaluated_schema(shape)]
    return pa.schema([*fields, pa.field(RAISED, pa.bool_())] if shape.is_ordered else fields)


def _visible(batch: QueryBatch, rows: pa.Table) -> pa.Table:
    """The columns as delivered, under the names that the queries gave them."""
    outputs = rows.select(range(1, 3 + len(batch.shape.outputs)))
    if not batch.column_names:
        return outputs
    return outputs.rename_columns([WINDOW_START.name, WINDOW_END.name, *batch.column_names])


def _top(batch: QueryBatch, rows: pa.Table, query: IntArray) -> IntArray:
    def column(name: str) -> pa.Array:
        return rows.column(name).combine_chunks()

    orders = [
        (column(order_name(n)), o.descending, o.nulls_first)
        for n, o in enumerate(batch.shape.order_by)
    ]
    orders += [(column(tie_name(n)), False, True) for n in range(len(batch.shape.keys))]
    bounds = [np.asarray(column(slot.name).view(pa.int64())) for slot in (WINDOW_START, WINDOW_END)]
    return top_per_window([query, *bounds], orders, batch.limits[query])


def stage(folder: Path, tick: int, rows: pa.Table) -> str:
    """Write answers where no reader looks yet; the sink's ledger makes them real.

    Returns the name of the file in the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{tick:08d}-{uuid.uuid4().hex}.parquet"
    pq.write_table(rows, folder / name)
    return name
