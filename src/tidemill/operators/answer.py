"""Step 5: cells + closed windows ⇒ answer rows of one query in one bucket.

Combine the slices of each window, lower the lanes to aggregates, evaluate the finishing
expressions, keep what HAVING keeps, and of that the local top when there is a LIMIT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.aggregates import Encoded, lanes_behind, lower
from tidemill.operators.finish import Finished, evaluate
from tidemill.operators.ordering import top_per_window
from tidemill.plan.expressions import Node
from tidemill.plan.model import WINDOW_END, WINDOW_START, QueryPlan
from tidemill.plan.typing import is_vectorised
from tidemill.synopsis.cells import Cells
from tidemill.synopsis.combine import combine_windows
from tidemill.synopsis.model import Synopsis
from tidemill.types import TIMESTAMP
from tidemill.windows import WindowSpec, slice_ends, slice_ranges

IntArray = NDArray[np.int64]
# Windows are combined in runs of this many, so that a query with a huge overlap does not
# need all of its answers in memory at once.
WINDOWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Answers:
    """Rows of one query: window bounds, the select list, then hidden ordering columns.

    Before finishing (`finish_here` false) the columns are the slots instead.
    """

    rows: pa.Table
    raised: int = 0


def finishes_here(plan: QueryPlan) -> bool:
    """Whether every finishing expression is in the vectorised set; else Spark evaluates it."""
    return all(is_vectorised(node) for node in plan.finishing)


def answer(synopsis: Synopsis, cells: Cells, plan: QueryPlan, starts: IntArray) -> Answers:
    """The answers of a bucket for these windows of the query."""
    runs = [starts[at : at + WINDOWS_AT_ONCE] for at in range(0, len(starts), WINDOWS_AT_ONCE)]
    parts = [_answer_run(synopsis, cells, plan, run) for run in runs]
    rows = pa.concat_tables([part.rows for part in parts])
    return Answers(rows, sum(part.raised for part in parts))


def _answer_run(synopsis: Synopsis, cells: Cells, plan: QueryPlan, starts: IntArray) -> Answers:
    slots, lowering = slot_rows(synopsis, cells, plan, starts)
    if not finishes_here(plan):
        return Answers(slots, lowering)
    finished = finish(plan, slots)
    return Answers(keep_top(plan, finished.rows), lowering + finished.raised)


def slot_rows(
    synopsis: Synopsis, cells: Cells, plan: QueryPlan, starts: IntArray
) -> tuple[pa.Table, int]:
    """One row per (window, group) with rows behind it: bounds, keys and aggregates."""
    spec = WindowSpec(plan.window.range_us, plan.window.slide_us, plan.window.start_us)
    ends = slice_ends(cells.slices, synopsis.classes)
    low, high = slice_ranges(spec, starts, cells.slices, ends)
    wanted = dict.fromkeys(
        [synopsis.lanes[0], *(lane for call in plan.aggregates for lane in lanes_behind(call))]
    )
    numbers = [synopsis.lanes.index(lane) for lane in wanted]
    combined = combine_windows(
        cells.slice_index,
        cells.group,
        len(cells.groups) if synopsis.keys else min(1, len(cells)),
        len(cells.slices),
        low,
        high,
        [(cells.lanes[n].values, synopsis.lanes[n].algebra, cells.lanes[n].valid) for n in numbers],
    )
    lanes = {
        lane: Encoded(values, valid, cells.lanes[number].dictionary)
        for lane, number, (values, valid) in zip(wanted, numbers, combined.lanes, strict=True)
    }
    columns = _bounds(starts[combined.window], spec.range_us)
    for key in plan.keys:
        columns[key.slot.name] = cells.groups.column(key.slot.name).take(pa.array(combined.group))
    raised = 0
    for call in plan.aggregates:
        values, wrong = lower(call, lanes)
        columns[call.slot.name] = values
        raised += int(wrong.sum())
    return pa.table(columns), raised


def _bounds(starts: IntArray, range_us: int) -> dict[str, pa.Array]:
    return {
        WINDOW_START.name: pa.array(starts).cast(TIMESTAMP.arrow),
        WINDOW_END.name: pa.array(starts + range_us).cast(TIMESTAMP.arrow),
    }


def finish(
    plan: QueryPlan, slots: pa.Table, by_spark: Mapping[Node, Finished] | None = None
) -> Answers:
    """Select list, HAVING and ordering columns, evaluated over slot rows.

    What is outside the vectorised set has been evaluated by Spark and is given.
    """
    given = by_spark or {}
    columns = {name: slots.column(name).combine_chunks() for name in slots.column_names}
    raised = np.zeros(len(slots), dtype=np.bool_)
    kept: NDArray[np.bool_] | None = None

    def value(node: Node) -> pa.Array:
        nonlocal raised
        finished = given[node] if node in given else evaluate(node, columns, len(slots))
        raised = raised | finished.raised
        return finished.values

    if plan.having is not None:
        kept = np.asarray(value(plan.having).fill_null(False).to_numpy(zero_copy_only=False))
    values = [value(node) for node in finishing_values(plan)]
    table = named_rows(plan, columns[WINDOW_START.name], columns[WINDOW_END.name], values, columns)
    return Answers(table if kept is None else table.filter(pa.array(kept)), int(raised.sum()))


def finishing_values(plan: QueryPlan) -> list[Node]:
    return [*(o.node for o in plan.outputs), *(o.node for o in plan.order_by)]


def named_rows(
    plan: QueryPlan,
    starts: pa.Array,
    ends: pa.Array,
    values: Sequence[pa.Array],
    slots: dict[str, pa.Array],
) -> pa.Table:
    """Answer columns, then `_o…` to order by and `_t…` to break ties by the group keys."""
    names = [o.name for o in plan.outputs] + [f"_o{n}" for n in range(len(plan.order_by))]
    arrays, labels = [starts, ends, *values], ["window_start", "window_end", *names]
    if plan.is_ordered:
        arrays += [slots[key.slot.name] for key in plan.keys]
        labels += [f"_t{n}" for n in range(len(plan.keys))]
    return pa.table(arrays, names=labels)


def keep_top(plan: QueryPlan, rows: pa.Table) -> pa.Table:
    """Rows in the query's order, at most LIMIT per window; the same locally and globally."""
    if not plan.is_ordered:
        return rows
    window = rows.column("window_start").cast(pa.int64()).to_numpy()
    columns = [
        (rows.column(f"_o{n}").combine_chunks(), o.descending, o.nulls_first)
        for n, o in enumerate(plan.order_by)
    ]
    columns += [
        (rows.column(f"_t{n}").combine_chunks(), False, True) for n in range(len(plan.keys))
    ]
    return rows.take(pa.array(top_per_window(window, columns, plan.limit)))


def visible(plan: QueryPlan, rows: pa.Table) -> pa.Table:
    """The answer rows as delivered, without the hidden columns."""
    return rows.select(range(2 + len(plan.outputs)))


def answer_schema(plan: QueryPlan) -> pa.Schema:
    """The columns that a query's answers have."""
    bounds = [(slot.name, slot.type.arrow) for slot in (WINDOW_START, WINDOW_END)]
    return pa.schema([*bounds, *((o.name, o.node.type.arrow) for o in plan.outputs)])
