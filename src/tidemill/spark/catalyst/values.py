"""Tuple-level expressions in Catalyst: each once per row, with what it raised set aside."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from tidemill.plan.expressions import Scalar
from tidemill.spark.catalyst.admission import TIME

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def value_items(scalars: tuple[Scalar, ...]) -> list[str]:
    """One item per expression and, where it may raise, one that says whether it did.

    A guarded expression has been put into a struct, which is never NULL by itself: a NULL
    one means that its field raised.
    """
    items = []
    for number, scalar in enumerate(scalars):
        if not scalar.guarded:
            items.append(f"{scalar.try_sql} AS {_value(number)}")
        if scalar.may_raise:
            items.append(f"{_raised(number, scalar)} AS {raised_column(number)}")
    return items


def guarded_columns(
    session: SparkSession, scalars: tuple[Scalar, ...], chosen: Collection[Scalar]
) -> dict[str, Column]:
    """Values that may raise in ways no try_ form covers, and their flags, which may too."""
    columns = {}
    for number, scalar in enumerate(scalars):
        if scalar.guarded and scalar in chosen:
            columns[_value(number)] = guard(session, scalar.try_sql, TIME)
            columns[_flag(number)] = guard(session, scalar.raised_sql or "FALSE", TIME)
    return columns


def _raised(number: int, scalar: Scalar) -> str:
    if scalar.guarded:
        return f"{_value(number)} IS NULL OR COALESCE({_flag(number)}.value, FALSE)"
    return f"COALESCE({scalar.raised_sql}, FALSE)"


def raised_column(number: int) -> str:
    return f"_raised{number}"


def _value(number: int) -> str:
    return f"_x{number}"


def _flag(number: int) -> str:
    return f"_flag{number}"


def read_value(scalars: tuple[Scalar, ...], scalar: Scalar) -> str:
    number = scalars.index(scalar)
    return f"{_value(number)}.value" if scalar.guarded else _value(number)


def guard(session: SparkSession, sql: str, column: str) -> Column:
    """The value of an expression in a struct, NULL where it raises.

    Catalyst's own catch-all, which SQL cannot name, catches what raises in a row. Constants
    are worked out while Spark plans, before any row; there errors pass only in a branch
    that may not be taken, so the expression stands in one. It always is: the condition only
    has to be one about a column, which Catalyst cannot see through.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.classic.column import Column as ClassicColumn

    jvm: Any = session._jvm
    expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils
    catch = jvm.org.apache.spark.sql.catalyst.expressions.TryEval
    inner: Any = F.expr(f"IF(INT(ISNULL({column})) < 2, STRUCT(({sql}) AS value), NULL)")
    return ClassicColumn(expressions.column(catch(expressions.expression(inner._jc))))
