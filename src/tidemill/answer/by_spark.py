"""The last steps of a query some of whose expressions Spark has evaluated over its slots."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from tidemill.answer.ordering import top_per_window
from tidemill.arrays import IntArray
from tidemill.evaluation.finish import Finished, evaluate
from tidemill.plan.expressions import Node
from tidemill.plan.query import WINDOW_END, WINDOW_START, QueryPlan


def finish(
    plan: QueryPlan, slots: pa.Table, by_spark: Mapping[Node, Finished]
) -> tuple[pa.Table, int]:
    """HAVING, order, LIMIT and select list over slot rows: the answers, and how many raised."""
    columns = {name: slots.column(name).combine_chunks() for name in slots.column_names}
    finished = {
        node: by_spark[node] if node in by_spark else evaluate(node, columns, len(slots))
        for node in plan.finishing
    }
    eligible, raised = np.ones(len(slots), dtype=np.bool_), np.zeros(len(slots), dtype=np.bool_)
    if plan.having is not None:
        having = finished[plan.having]
        true = having.values.cast(pa.bool_()).fill_null(False)
        eligible = np.asarray(true.to_numpy(zero_copy_only=False))
        raised |= having.raised
    for ordering in plan.order_by:
        raised |= finished[ordering.node].raised & eligible
    rows = _ordered(plan, columns, finished, np.flatnonzero(eligible))
    for output in plan.outputs:
        raised[rows] |= finished[output.node].raised[rows]
    place = pa.array(rows)
    table = {slot.name: columns[slot.name].take(place) for slot in (WINDOW_START, WINDOW_END)}
    table |= {output.name: finished[output.node].values.take(place) for output in plan.outputs}
    return pa.table(table), int(raised.sum())


def _ordered(
    plan: QueryPlan,
    columns: Mapping[str, pa.Array],
    finished: Mapping[Node, Finished],
    rows: IntArray,
) -> IntArray:
    if not plan.is_ordered:
        return rows
    place = pa.array(rows)
    orders = [
        (finished[o.node].values.take(place), o.descending, o.nulls_first) for o in plan.order_by
    ]
    orders += [(columns[key.slot.name].take(place), False, True) for key in plan.keys]
    windows = [
        np.asarray(columns[slot.name].view(pa.int64()))[rows] for slot in (WINDOW_START, WINDOW_END)
    ]
    is_whole = plan.limit is None or plan.distinct
    limits = np.full(len(rows), len(rows) if is_whole else plan.limit)
    return rows[top_per_window(windows, orders, limits)]
