"""Step 5: cells + closed windows ⇒ answer rows of a bucket.

Combine the slices of each window, lower the lanes to aggregates, evaluate the finishing
expressions, keep what HAVING keeps, and of that the local top when there is a LIMIT.
Queries of one shape, which differ in their windows only, go through all of it together:
the price of a query is then its rows, not its share of a hundred small calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.aggregates import Encoded, lanes_behind, lower
from tidemill.operators.finish import Finished, evaluate
from tidemill.operators.ordering import top_per_window
from tidemill.plan.expressions import Node
from tidemill.plan.model import WINDOW_END, WINDOW_START, QueryPlan
from tidemill.plan.predicates import ALL_ROWS, Reading
from tidemill.plan.typing import is_vectorised
from tidemill.share import specs_of
from tidemill.synopsis.cells import Cells, factorise, narrow
from tidemill.synopsis.combine import combine_windows
from tidemill.synopsis.model import Synopsis
from tidemill.types import TIMESTAMP
from tidemill.windows import slice_ranges

IntArray = NDArray[np.int64]
# Windows are combined in runs of this many, so that a query with a huge overlap does not
# need all of its answers in memory at once.
WINDOWS_AT_ONCE = 4096
# Number of the row's window among those answered together; ordering is within it.
WINDOW = "_w"


@dataclass(frozen=True)
class Answers:
    """Rows of one query: window bounds, the select list, then hidden columns.

    Before finishing (`finishes_here` false) the slots stand in place of the select list.
    """

    rows: pa.Table
    raised: int = 0


@dataclass(frozen=True)
class Asked:
    """A query and the starts of its windows to answer, ascending."""

    plan: QueryPlan
    range_us: int
    starts: IntArray
    reading: Reading = ALL_ROWS


def finishes_here(plan: QueryPlan) -> bool:
    """Whether every finishing expression is in the vectorised set; else Spark evaluates it."""
    return all(is_vectorised(node) for node in plan.finishing)


def answer(synopsis: Synopsis, cells: Cells, asked: Sequence[Asked]) -> list[Answers]:
    """The answers of a bucket to each question, in their order."""
    results: dict[int, Answers] = {}
    narrowed = {r: narrow(synopsis.lanes, cells, r) for r in {one.reading for one in asked}}
    for places in _by_shape(asked).values():
        mine = narrowed[asked[places[0]].reading]
        answers = _answer_shape(synopsis, mine, [asked[place] for place in places])
        results.update(zip(places, answers, strict=True))
    return [results[place] for place in range(len(asked))]


def _by_shape(asked: Sequence[Asked]) -> dict[object, list[int]]:
    """Places of the questions whose queries do the same with their windows."""
    shapes: dict[object, list[int]] = {}
    for place, question in enumerate(asked):
        plan = question.plan
        shape = (
            question.reading,
            plan.keys,
            plan.aggregates,
            plan.outputs,
            plan.having,
            plan.order_by,
            plan.limit,
        )
        shapes.setdefault(shape, []).append(place)
    return shapes


def _answer_shape(synopsis: Synopsis, cells: Cells, asked: Sequence[Asked]) -> list[Answers]:
    plan = asked[0].plan
    parts: list[list[pa.Table]] = [[] for _ in asked]
    raised = np.zeros(len(asked), dtype=np.int64)
    for run in _Windows.of(synopsis, cells, asked).runs():
        rows, wrong = slot_rows(synopsis, cells, plan, run)
        raised += run.tally(rows, wrong)
        if finishes_here(plan):
            finished, wrong = finish(plan, rows)
            raised += run.tally(rows, wrong)
            rows = keep_top(plan, finished)
        for place, table in run.split(rows):
            parts[place].append(table)
    return [Answers(pa.concat_tables(p), int(r)) for p, r in zip(parts, raised, strict=True)]


@dataclass(frozen=True)
class _Windows:
    """Windows of several queries side by side: bounds in time and in slices."""

    starts: IntArray
    ends: IntArray
    low: IntArray
    high: IntArray
    owner: IntArray  # which question each belongs to, ascending
    questions: int

    @staticmethod
    def of(synopsis: Synopsis, cells: Cells, asked: Sequence[Asked]) -> _Windows:
        ends = synopsis.cuts.ends(cells.slices)
        specs = [
            replace(specs_of(question.plan)[0], range_us=question.range_us) for question in asked
        ]
        ranges = [
            slice_ranges(spec, question.starts, cells.slices, ends)
            for spec, question in zip(specs, asked, strict=True)
        ]
        starts = np.concatenate([question.starts for question in asked])
        counts = [len(question.starts) for question in asked]
        lengths = np.repeat([spec.range_us for spec in specs], counts)
        return _Windows(
            starts,
            starts + lengths,
            np.concatenate([low for low, _ in ranges]),
            np.concatenate([high for _, high in ranges]),
            np.repeat(np.arange(len(asked)), counts),
            len(asked),
        )

    def runs(self) -> Iterator[_Windows]:
        for at in range(0, max(1, len(self.starts)), WINDOWS_AT_ONCE):
            part = slice(at, at + WINDOWS_AT_ONCE)
            bounds = (self.starts[part], self.ends[part], self.low[part], self.high[part])
            yield _Windows(*bounds, self.owner[part], self.questions)

    def tally(self, rows: pa.Table, wrong: NDArray[np.int64]) -> IntArray:
        """How often something raised in each question's rows."""
        if not wrong.any():
            return np.zeros(self.questions, dtype=np.int64)
        owners = self.owner[rows.column(WINDOW).to_numpy()]
        return np.bincount(owners, weights=wrong, minlength=self.questions).astype(np.int64)

    def split(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Each question's rows; rows come ordered by window, so they are runs."""
        owners = self.owner[rows.column(WINDOW).to_numpy()]
        for place in range(self.questions):
            low, high = np.searchsorted(owners, [place, place + 1])
            yield place, rows.slice(int(low), int(high - low))


def slot_rows(
    synopsis: Synopsis, cells: Cells, plan: QueryPlan, windows: _Windows
) -> tuple[pa.Table, IntArray]:
    """One row per (window, group) with rows behind it: bounds, keys and aggregates.

    Beside them, how many of each row's aggregates are NULL because Spark would have raised.
    """
    wanted = dict.fromkeys(
        [synopsis.lanes[0], *(lane for call in plan.aggregates for lane in lanes_behind(call))]
    )
    numbers = [synopsis.lanes.index(lane) for lane in wanted]
    combined = combine_windows(
        cells.slice_index,
        cells.group,
        cells.group_count,
        len(cells.slices),
        windows.low,
        windows.high,
        [(cells.lanes[n].values, synopsis.lanes[n].algebra, cells.lanes[n].valid) for n in numbers],
    )
    lanes = {
        lane: Encoded(values, valid, cells.lanes[number].dictionary)
        for lane, number, (values, valid) in zip(wanted, numbers, combined.lanes, strict=True)
    }
    columns = {
        WINDOW_START.name: pa.array(windows.starts[combined.window]).cast(TIMESTAMP.arrow),
        WINDOW_END.name: pa.array(windows.ends[combined.window]).cast(TIMESTAMP.arrow),
        WINDOW: pa.array(combined.window),
    }
    for key in plan.keys:
        columns[key.slot.name] = cells.groups.column(synopsis.key_column(key)).take(
            pa.array(combined.group)
        )
    raised = np.zeros(len(combined.window), dtype=np.int64)
    for call in plan.aggregates:
        columns[call.slot.name], wrong = lower(call, lanes)
        raised += wrong
    return pa.table(columns), raised


def finish(
    plan: QueryPlan, slots: pa.Table, by_spark: Mapping[Node, Finished] | None = None
) -> tuple[pa.Table, IntArray]:
    """Select list, HAVING and ordering columns, evaluated over slot rows.

    What is outside the vectorised set has been evaluated by Spark and is given. Beside
    the rows that HAVING keeps, for every slot row whether an expression raised.
    """
    given = by_spark or {}
    columns = {name: slots.column(name).combine_chunks() for name in slots.column_names}
    raised = np.zeros(len(slots), dtype=np.int64)

    def value(node: Node) -> pa.Array:
        nonlocal raised
        finished = given[node] if node in given else evaluate(node, columns, len(slots))
        raised = raised | finished.raised
        return finished.values

    kept = value(plan.having) if plan.having is not None else None
    nodes = [*(o.node for o in plan.outputs), *(o.node for o in plan.order_by)]
    table = _named(plan, columns, [value(node) for node in nodes])
    return table if kept is None else table.filter(kept.cast(pa.bool_())), raised


def _named(plan: QueryPlan, slots: dict[str, pa.Array], values: Sequence[pa.Array]) -> pa.Table:
    """Answer columns; then the window's number, `_o…` to order by, `_t…` to break ties."""
    outputs = len(plan.outputs)
    columns = {name: slots[name] for name in (WINDOW_START.name, WINDOW_END.name)}
    columns |= dict(zip((o.name for o in plan.outputs), values[:outputs], strict=True))
    columns[WINDOW] = slots[WINDOW]
    columns |= {f"_o{n}": array for n, array in enumerate(values[outputs:])}
    if plan.is_ordered:
        columns |= {f"_t{n}": slots[key.slot.name] for n, key in enumerate(plan.keys)}
    return pa.table(columns)


def keep_top(plan: QueryPlan, rows: pa.Table) -> pa.Table:
    """Rows in the query's order, at most LIMIT per window; the same locally and globally."""
    if not plan.is_ordered:
        return rows
    columns = [
        (rows.column(f"_o{n}").combine_chunks(), o.descending, o.nulls_first)
        for n, o in enumerate(plan.order_by)
    ]
    columns += [
        (rows.column(f"_t{n}").combine_chunks(), False, True) for n in range(len(plan.keys))
    ]
    window = rows.column(WINDOW).to_numpy()
    return rows.take(pa.array(top_per_window(window, columns, plan.limit)))


def merge(parts: Sequence[pa.Table]) -> pa.Table:
    """One query's rows from several buckets, each of which numbered its windows by itself."""
    rows = pa.concat_tables(parts)
    bounds = rows.select([WINDOW_START.name, WINDOW_END.name])
    place = rows.column_names.index(WINDOW)
    return rows.set_column(place, WINDOW, pa.array(factorise(bounds, len(rows))[0]))


def visible(plan: QueryPlan, rows: pa.Table) -> pa.Table:
    """The answer rows as delivered, without the hidden columns."""
    return rows.select(range(2 + len(plan.outputs)))


def answer_schema(plan: QueryPlan) -> pa.Schema:
    """The columns that a query's answers have."""
    bounds = [(slot.name, slot.type.arrow) for slot in (WINDOW_START, WINDOW_END)]
    return pa.schema([*bounds, *((o.name, o.node.type.arrow) for o in plan.outputs)])
