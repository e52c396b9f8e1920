"""Finishing expressions over the slots of an answer, whole columns at a time.

Each operator behaves as Spark's try_ sibling; `raised` tells the rows for which plain Spark
would have stopped. Only what Spark evaluates counts: the branch of a CASE that is taken, the
arguments of COALESCE up to the first value, the right side of AND unless the left is false,
the second operand of arithmetic and comparisons unless the first is NULL.

>>> from tidemill.plan.expressions import Call, Slot
>>> from tidemill.types import INT
>>> total = Call("add", (Slot("a", INT), Slot("b", INT)), INT)
>>> columns = {"a": pa.array([1, 2**31 - 1], pa.int32()), "b": pa.array([1, 1], pa.int32())}
>>> done = evaluate(total, columns, rows=2)
>>> done.values.to_pylist(), done.raised.tolist()
([2, None], [False, True])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.arrays import Array, BoolArray
from tidemill.evaluation import decimals, numbers
from tidemill.evaluation.columns import MaskedColumn, from_arrow, nulls, to_arrow
from tidemill.evaluation.logic import OPERATORS as LOGIC
from tidemill.evaluation.rounding import round_column
from tidemill.plan.expressions import Call, Literal, Node, Slot
from tidemill.types import Type

_NUMBERS: dict[str, Callable[[Array, Array], tuple[Array, BoolArray]]] = {
    "add": numbers.add,
    "sub": numbers.subtract,
    "mul": numbers.multiply,
    "div": numbers.divide,
    "mod": numbers.remainder,
    "whole_div": numbers.whole_divide,
}
_DECIMALS: dict[str, Callable[[Array, Array, tuple[Type, Type], Type], tuple[Array, BoolArray]]] = {
    "add": decimals.add_decimals,
    "sub": decimals.subtract_decimals,
    "mul": decimals.multiply_decimals,
    "div": decimals.divide_decimals,
    "mod": decimals.remainder_of_decimals,
}
_COMPARISONS: dict[str, Callable[[Array, Array], BoolArray]] = {
    "eq": numbers.equal,
    "ne": lambda left, right: ~numbers.equal(left, right),
    "lt": numbers.less,
    "le": lambda left, right: ~numbers.less(right, left),
    "gt": lambda left, right: numbers.less(right, left),
    "ge": lambda left, right: ~numbers.less(left, right),
}
# Spark looks at the divisor first: a NULL there spares the dividend.
_RIGHT_FIRST = ("div", "mod", "whole_div")


# Gives the column of a slot.
ReadSlot = Callable[[Slot], MaskedColumn]


@dataclass(frozen=True)
class Finished:
    """One value per row, and the rows for which Spark in ANSI mode would have raised."""

    values: pa.Array
    raised: BoolArray


def evaluate(node: Node, columns: Mapping[str, pa.Array], rows: int) -> Finished:
    """The expression over `rows` rows; the values have the Arrow type of `node.type`."""
    if isinstance(node, Slot) and node.type.inner:
        return Finished(columns[node.name], np.zeros(rows, np.bool_))
    column = evaluate_column(node, lambda slot: from_arrow(columns[slot.name], slot.type))
    full = column.spread((rows,))
    return Finished(to_arrow(full, node.type), full.raised)


def evaluate_column(node: Node, read: ReadSlot, null_spares: bool = True) -> MaskedColumn:
    """The expression over columns of any shapes that broadcast; the result's is theirs.

    Errors in rows are counted without `null_spares`, as Catalyst's flags have them: an operand
    that raises counts also beside a NULL.
    """
    with np.errstate(all="ignore"):
        return _evaluate(node, read, null_spares)


def _evaluate(node: Node, read: ReadSlot, null_spares: bool) -> MaskedColumn:
    if isinstance(node, Slot):
        return read(node)
    if isinstance(node, Literal):
        return _literal_column(node)
    if isinstance(node, Call):
        return _call(node, [_evaluate(arg, read, null_spares) for arg in node.args], null_spares)
    raise TypeError(f"{node} is for Spark to evaluate")


def _literal_column(node: Literal) -> MaskedColumn:
    """One row with the value; it broadcasts."""
    if node.value is None:
        return nulls(node.type, 1)
    return from_arrow(pa.array([node.value], node.type.arrow), node.type)


def _call(node: Call, args: list[MaskedColumn], null_spares: bool) -> MaskedColumn:
    if node.op in LOGIC:
        return LOGIC[node.op](args)
    if node.op in _NUMBERS:
        return _arithmetic(node, null_spares, *args)
    if node.op in _COMPARISONS:
        return _comparison(node.op, null_spares, *args)
    source = node.args[0].type
    if node.op == "cast":
        return numbers.cast_column(args[0], source, node.type)
    if node.op == "try_cast":
        return MaskedColumn(
            *_first_two(numbers.cast_column(args[0], source, node.type)), args[0].raised
        )
    return _unary(node, args[0])


def _unary(node: Call, operand: MaskedColumn) -> MaskedColumn:
    if node.op == "round":
        digits = node.args[1]
        assert isinstance(digits, Literal)
        assert isinstance(digits.value, int)
        return round_column(operand, node.args[0].type, digits.value, node.type)
    return {"neg": numbers.negate, "abs": numbers.absolute}[node.op](operand)


def _first_two(column: MaskedColumn) -> tuple[Array, BoolArray]:
    return column.values, column.valid


def _arithmetic(
    node: Call, null_spares: bool, left: MaskedColumn, right: MaskedColumn
) -> MaskedColumn:
    if node.type.is_decimal:
        types = (node.args[0].type, node.args[1].type)
        values, over = _DECIMALS[node.op](left.values, right.values, types, node.type)
    else:
        values, over = _NUMBERS[node.op](left.values, right.values)
    valid = left.valid & right.valid
    order = (right, left) if node.op in _RIGHT_FIRST else (left, right)
    raised = _raised_in_operands(*order, null_spares)
    return MaskedColumn(values, valid & ~over, raised | (valid & over))


def _comparison(
    op: str, null_spares: bool, left: MaskedColumn, right: MaskedColumn
) -> MaskedColumn:
    values = _COMPARISONS[op](left.values, right.values)
    raised = _raised_in_operands(left, right, null_spares)
    return MaskedColumn(values, left.valid & right.valid, raised)


def _raised_in_operands(first: MaskedColumn, second: MaskedColumn, null_spares: bool) -> BoolArray:
    return first.raised | ((first.valid & second.raised) if null_spares else second.raised)
