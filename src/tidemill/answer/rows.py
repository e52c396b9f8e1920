"""Answer rows as tables: their columns, how buckets' rows are put together, what is shown.

A table of a sheet's answers has the number of the query, the window's bounds and the outputs;
where there is an order, also the columns to order by, the keys to break ties, and whether
anything raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.answer.asked import Sheet
from tidemill.answer.ordering import top_per_window
from tidemill.answer.shapes import Shape
from tidemill.arrays import IntArray
from tidemill.plan.query import WINDOW_END, WINDOW_START, QueryPlan
from tidemill.types import TIMESTAMP

QUERY, RAISED = "_query", "_raised"


@dataclass(frozen=True)
class Together:
    """A sheet's rows from all buckets: query after query, as they are delivered."""

    rows: pa.Table  # window bounds and outputs
    counts: IntArray  # by query
    raised: IntArray  # by query, in rows that carried their flags


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


def worked_out_schema(shape: Shape) -> pa.Schema:
    """The columns that come of working out a form: outputs, and what rows are ordered by."""
    fields = [(output_name(n), node.type.arrow) for n, node in enumerate(shape.outputs)]
    if shape.is_ordered:
        fields += [(order_name(n), o.node.type.arrow) for n, o in enumerate(shape.order_by)]
        fields += [(tie_name(n), key.slot.type.arrow) for n, key in enumerate(shape.keys)]
    return pa.schema(fields)


def row_schema(shape: Shape) -> pa.Schema:
    """The columns beside query and bounds."""
    schema = worked_out_schema(shape)
    return schema.append(pa.field(RAISED, pa.bool_())) if shape.is_ordered else schema


def together(sheet: Sheet, tables: Sequence[pa.Table]) -> Together:
    """The rows of all buckets by query, in order and cut to LIMIT where there is one."""
    none = np.zeros(0, dtype=np.int64)
    schema = [*bound_columns(none, none, none).schema, *row_schema(sheet.shape)]
    rows = pa.concat_tables([pa.schema(schema).empty_table(), *tables])
    query = rows.column(QUERY).to_numpy()
    raised = np.zeros(len(sheet), dtype=np.int64)
    if sheet.shape.is_ordered:
        order = _top(sheet, rows, query)
        flags = np.asarray(rows.column(RAISED).to_numpy())[order]
        raised = np.bincount(query[order][flags], minlength=len(sheet))
    else:
        order = np.argsort(query, kind="stable")
    counts = np.bincount(query[order], minlength=len(sheet))
    if not np.array_equal(order, np.arange(len(rows))):
        rows = rows.take(pa.array(order))
    return Together(visible(sheet, rows), counts, raised)


def visible(sheet: Sheet, rows: pa.Table) -> pa.Table:
    """The columns as delivered, under the names that the queries gave them."""
    outputs = rows.select(range(1, 3 + len(sheet.shape.outputs)))
    if not sheet.names:
        return outputs
    return outputs.rename_columns([WINDOW_START.name, WINDOW_END.name, *sheet.names])


def answer_schema(plan: QueryPlan) -> pa.Schema:
    """The columns that a query's answers have."""
    bounds = [(slot.name, slot.type.arrow) for slot in (WINDOW_START, WINDOW_END)]
    return pa.schema([*bounds, *((o.name, o.node.type.arrow) for o in plan.outputs)])


def _top(sheet: Sheet, rows: pa.Table, query: IntArray) -> IntArray:
    def column(name: str) -> pa.Array:
        return rows.column(name).combine_chunks()

    orders = [
        (column(order_name(n)), o.descending, o.nulls_first)
        for n, o in enumerate(sheet.shape.order_by)
    ]
    orders += [(column(tie_name(n)), False, True) for n in range(len(sheet.shape.keys))]
    bounds = [np.asarray(column(slot.name).view(pa.int64())) for slot in (WINDOW_START, WINDOW_END)]
    return top_per_window([query, *bounds], orders, sheet.limits[query])
