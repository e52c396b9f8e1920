"""Three-valued logic and choice between columns, with Spark's order of evaluation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tidemill.answer.expressions.columns import Column, Flags
from tidemill.answer.expressions.numbers import equal


def both(args: list[Column]) -> Column:
    """AND: false beats NULL, and a false left side spares the right one."""
    left, right = args
    no = _is(left, False) | _is(right, False)
    raised = left.raised | (right.raised & ~_is(left, False))
    return Column(~no, no | (left.valid & right.valid), raised)


def either(args: list[Column]) -> Column:
    """OR: true beats NULL, and a true left side spares the right one."""
    left, right = args
    yes = _is(left, True) | _is(right, True)
    raised = left.raised | (right.raised & ~_is(left, True))
    return Column(yes, yes | (left.valid & right.valid), raised)


def opposite(args: list[Column]) -> Column:
    return Column(~args[0].values, args[0].valid, args[0].raised)


def is_null(args: list[Column]) -> Column:
    return Column(~args[0].valid, _all(args[0]), args[0].raised)


def same(args: list[Column]) -> Column:
    """`<=>`: equal, or both NULL."""
    left, right = args
    alike = left.valid & right.valid & equal(left.values, right.values)
    alike = alike | (~left.valid & ~right.valid)
    return Column(alike, _all(left), left.raised | right.raised)


def member(args: list[Column]) -> Column:
    """IN: true if found, else NULL if the subject or a member is NULL, else false."""
    subject, *members = args
    found, unsure = ~_all(subject), ~subject.valid
    for each in members:
        found = found | (subject.valid & each.valid & equal(subject.values, each.values))
        unsure = unsure | ~each.valid
    return Column(found, found | ~unsure, subject.raised)


def coalesce(args: list[Column]) -> Column:
    chosen = args[0]
    for other in args[1:]:
        chosen = _fill(chosen, ~chosen.valid, other)
    return chosen


def case(args: list[Column]) -> Column:
    """The value of the first true condition; a condition counts only if it is reached."""
    conditions, values = args[0 : len(args) // 2 * 2 : 2], args[1::2]
    open_rows = _all(args[0])
    blank = values[0]
    chosen = Column(blank.values, ~open_rows, ~open_rows)
    for condition, value in zip(conditions, values, strict=True):
        chosen = chosen.also_raised(open_rows & condition.raised)
        taken = open_rows & _is(condition, True)
        chosen = _fill(chosen, taken, value)
        open_rows = open_rows & ~taken
    return _fill(chosen, open_rows, args[-1]) if len(args) % 2 else chosen


def _fill(column: Column, where: Flags, other: Column) -> Column:
    return Column(
        np.where(where, other.values, column.values),
        np.where(where, other.valid, column.valid),
        column.raised | (where & other.raised),
    )


def _is(column: Column, truth: bool) -> Flags:
    return column.valid & (column.values if truth else ~column.values)


def _all(column: Column) -> Flags:
    return np.ones(column.valid.shape, bool)


OPERATORS: dict[str, Callable[[list[Column]], Column]] = {
    "and": both,
    "or": either,
    "not": opposite,
    "is_null": is_null,
    "same": same,
    "in": member,
    "coalesce": coalesce,
    "case": case,
}
