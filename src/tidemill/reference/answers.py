"""A query answered in the plainest way: every window, every row, one at a time.

The slow twin of lanes, slices, pieces, kernels, layouts and finishing together. Rows come
with their tuple-level expressions evaluated, by name of the expression: those are Spark's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidemill.aggregates.functions import function_of
from tidemill.aggregates.lanes import PlainWindow
from tidemill.language.statements import Window
from tidemill.plan.query import AS_OF, REVISION, WITHDRAWN, AggregateCall, QueryPlan
from tidemill.reference.expressions import evaluate_row
from tidemill.reference.windows import windows_of

ReferenceAnswer = tuple[int, int, tuple[Any, ...]]
# The rows of a window by their keys.
RowsByKeys = dict[tuple[Any, ...], list["AcceptedRow"]]


@dataclass(frozen=True)
class AcceptedRow:
    """An accepted row: its time, and the value of each tuple-level expression by its text."""

    time_us: int
    values: Mapping[str, Any]


def answers(plan: QueryPlan, rows: Iterable[AcceptedRow]) -> list[ReferenceAnswer]:
    """(window start, window end, select list) of every answer row.

    Windows come in no order; within one, the rows are as ORDER BY says, at most LIMIT of
    them, ties broken by the keys.
    """
    return [
        answer
        for span, groups in windows_with_rows(plan, rows).items()
        for answer in _answers(plan, span, groups, as_of_us=span[1])
    ]


def early_answers(
    plan: QueryPlan, rows: Iterable[AcceptedRow], as_of_us: int, watermark_us: int
) -> list[ReferenceAnswer]:
    """The same of windows still open at the watermark, over the rows before an instant."""
    before = (row for row in rows if row.time_us < as_of_us)
    return [
        answer
        for span, groups in windows_with_rows(plan, before).items()
        if span[1] > watermark_us
        for answer in _answers(plan, span, groups, as_of_us)
    ]


def answers_of_all(
    plan: QueryPlan, rows: Iterable[AcceptedRow], newest_us: int
) -> list[ReferenceAnswer]:
    """The answers to windows with rows and without: from the first with rows to the last that
    starts by the newest row of the stream."""
    windows = windows_with_rows(plan, rows)
    answered: list[ReferenceAnswer] = []
    for range_us in plan.window.ranges_us:
        starts = [start for start, end in windows if end - start == range_us]
        slide_us = plan.window.slide_us
        for start in range(min(starts), newest_us + 1, slide_us) if starts else ():
            span = start, start + range_us
            groups: RowsByKeys = windows.get(span, {(): []})
            answered += _answers(plan, span, groups, as_of_us=span[1])
    return answered


def windows_with_rows(
    plan: QueryPlan, rows: Iterable[AcceptedRow]
) -> dict[PlainWindow, RowsByKeys]:
    """The rows of each window by their keys."""
    windows: dict[PlainWindow, RowsByKeys] = {}
    for row in rows:
        if plan.where is not None and row.values[plan.where.sql] is not True:
            continue
        key = tuple(_key(row.values[k.scalar.sql]) for k in plan.keys)
        for span in _spans(plan, row.time_us):
            windows.setdefault(span, {}).setdefault(key, []).append(row)
    return windows


def _answers(
    plan: QueryPlan, span: PlainWindow, groups: RowsByKeys, as_of_us: int
) -> Iterator[ReferenceAnswer]:
    answered = {AS_OF.name: as_of_us, REVISION.name: 0, WITHDRAWN.name: False}
    slots_of_groups = [_slots(plan, span, *group) | answered for group in groups.items()]
    rows = [
        (*span, tuple(evaluate_row(output.node, slots)[0] for output in plan.outputs))
        for slots in _delivered(plan, slots_of_groups)
    ]
    if plan.distinct:
        rows = list({repr(row): row for row in rows}.values())
    yield from rows[: plan.limit]


def _spans(plan: QueryPlan, time_us: int) -> list[tuple[int, int]]:
    window = plan.window
    return [
        span
        for range_us in window.ranges_us
        for span in windows_of(time_us, range_us, window.grid_us, _start_us(window, range_us))
    ]


def _start_us(window: Window, range_us: int) -> int:
    """Windows of a soft period end, not start, at multiples of the update."""
    return -range_us % window.update_us if window.is_soft else window.start_us


def _delivered(plan: QueryPlan, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of a window's groups those that HAVING keeps, in order."""
    rows = [slots for slots in groups if _passes_having(plan, slots)]
    if not plan.is_ordered:
        return rows
    # Sorting is stable, so the keys that decide last are sorted by first.
    for key in reversed(plan.keys):
        rows.sort(key=lambda slots: _rank(slots[key.slot.name]))
    for order in reversed(plan.order_by):
        rows.sort(
            key=lambda slots: _rank(evaluate_row(order.node, slots)[0]),
            reverse=order.descending,
        )
        nulls_first = order.nulls_first
        rows.sort(key=lambda slots: (evaluate_row(order.node, slots)[0] is None) != nulls_first)
    return rows


def _rank(value: Any) -> tuple[Any, ...]:
    """Spark's order: NULL first, NaN above every number, text by its bytes."""
    if value is None:
        return (0,)
    if isinstance(value, float) and value != value:
        return (2,)
    return (1, value.encode() if isinstance(value, str) else value)


def _key(value: Any) -> Any:
    # NaN is one group, though no NaN equals another.
    return "NaN" if isinstance(value, float) and value != value else value


def _slots(
    plan: QueryPlan, window: PlainWindow, key: tuple[Any, ...], members: Sequence[AcceptedRow]
) -> dict[str, Any]:
    keys = zip(plan.keys, key, strict=True)
    slots = {k.slot.name: float("nan") if value == "NaN" else value for k, value in keys}
    slots |= {call.slot.name: _aggregate(call, members, window) for call in plan.aggregates}
    return slots


def _passes_having(plan: QueryPlan, slots: dict[str, Any]) -> bool:
    return plan.having is None or evaluate_row(plan.having, slots)[0] is True


def _aggregate(call: AggregateCall, members: Sequence[AcceptedRow], window: PlainWindow) -> Any:
    rows = [(row.time_us, tuple(row.values[a.sql] for a in call.arguments)) for row in members]
    return function_of(call).reference(call, rows, window)
