"""Three-valued logic and choice between columns, with Spark's order of evaluation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tidemill.arrays import BoolArray
from tidemill.evaluation.columns import MaskedColumn
from tidemill.evaluation.numbers import equal


def logical_and(args: list[MaskedColumn]) -> MaskedColumn:
    """AND: false beats NULL, and a false left side spares the right one."""
    left, right = args
    no = _is(left, False) | _is(right, False)
    raised = left.raised | (right.raised & ~_is(left, False))
    return MaskedColumn(~no, no | (left.valid & right.valid), raised)


def logical_or(args: list[MaskedColumn]) -> MaskedColumn:
    """OR: true beats NULL, and a true left side spares the right one."""
    left, right = args
    yes = _is(left, True) | _is(right, True)
    raised = left.raised | (right.raised & ~_is(left, True))
    return MaskedColumn(yes, yes | (left.valid & right.valid), raised)


def logical_not(args: list[MaskedColumn]) -> MaskedColumn:
    return MaskedColumn(~args[0].values, args[0].valid, args[0].raised)


def is_null(args: list[MaskedColumn]) -> MaskedColumn:
    return MaskedColumn(~args[0].valid, _all(args[0]), args[0].raised)


def same(args: list[MaskedColumn]) -> MaskedColumn:
    """`<=>`: equal, or both NULL."""
    left, right = args
    alike = left.valid & right.valid & equal(left.values, right.values)
    alike = alike | (~left.valid & ~right.valid)
    return MaskedColumn(alike, _all(left), left.raised | right.raised)


def member(args: list[MaskedColumn]) -> MaskedColumn:
    """IN: true if found, else NULL if the subject or a member is NULL, else false."""
    subject, *members = args
    is_in, unsure = ~_all(subject), ~subject.valid
    for column in members:
        is_in = is_in | (subject.valid & column.valid & equal(subject.values, column.values))
        unsure = unsure | ~column.valid
    return MaskedColumn(is_in, is_in | ~unsure, subject.raised)


def coalesce(args: list[MaskedColumn]) -> MaskedColumn:
    chosen = args[0]
    for other in args[1:]:
        chosen = _fill(chosen, ~chosen.valid, other)
    return chosen


def case(args: list[MaskedColumn]) -> MaskedColumn:
    """The value of the first true condition; a condition counts only if it is reached."""
    conditions, values = args[0 : len(args) // 2 * 2 : 2], args[1::2]
    open_rows = _all(args[0])
    blank = values[0]
    chosen = MaskedColumn(blank.values, ~open_rows, ~open_rows)
    for condition, value in zip(conditions, values, strict=True):
        chosen = chosen.also_raised(open_rows & condition.raised)
        decided = open_rows & _is(condition, True)
        chosen = _fill(chosen, decided, value)
        open_rows = open_rows & ~decided
    return _fill(chosen, open_rows, args[-1]) if len(args) % 2 else chosen


def _fill(column: MaskedColumn, where: BoolArray, other: MaskedColumn) -> MaskedColumn:
    return MaskedColumn(
        np.where(where, other.values, column.values),
        np.where(where, other.valid, column.valid),
        column.raised | (where & other.raised),
    )


def _is(column: MaskedColumn, truth: bool) -> BoolArray:
    return column.valid & (column.values if truth else ~column.values)


def _all(column: MaskedColumn) -> BoolArray:
    return np.ones(column.valid.shape, bool)


OPERATORS: dict[str, Callable[[list[MaskedColumn]], MaskedColumn]] = {
    "and": logical_and,
    "or": logical_or,
    "not": logical_not,
    "is_null": is_null,
    "same": same,
    "in": member,
    "coalesce": coalesce,
    "case": case,
}
