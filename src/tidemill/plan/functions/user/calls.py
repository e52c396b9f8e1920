"""A call of a user's aggregate: the arguments fitted to the types that it declares."""

from __future__ import annotations

from sqlglot import exp

from tidemill.catalog import Code
from tidemill.errors import TidemillError, refuse
from tidemill.language.statements import Expr
from tidemill.plan.bind.clauses import ScalarBinder
from tidemill.plan.bind.scope import place_in
from tidemill.plan.expressions import Scalar, Value
from tidemill.plan.functions.user.declaring import Argument, Constant
from tidemill.plan.functions.user.loading import declared, make_aggregate
from tidemill.plan.functions.user.signatures import as_given
from tidemill.types import INTEGER_BITS, Type


def user_arguments(
    expr: Expr, trees: list[exp.Expr], code: Code, scalars: ScalarBinder
) -> tuple[Scalar, ...]:
    """The arguments of `lift`, in its order: those written, and the time of the row."""
    remaining = iter(trees)
    return tuple(
        _time(expr, scalars)
        if argument.is_time
        else _fitted(expr, next(remaining), argument, scalars)
        for argument in declared(code).arguments
    )


def user_constants(
    expr: Expr, node: exp.Expr, code: Code, values: tuple[Value, ...]
) -> tuple[Constant, ...]:
    """The constants in their own types; refused where the class does."""
    defaults = (default for _, default in declared(code).constants)
    constants = tuple(map(as_given, values, defaults))
    try:
        make_aggregate(code, constants)
    except TidemillError as error:
        refuse(
            "E_ARGUMENTS",
            error.problem.primary,
            detail=error.problem.detail,
            place=place_in(expr, node),
        )
    return constants


def _time(expr: Expr, scalars: ScalarBinder) -> Scalar:
    time = scalars.scope.time
    if time is None:
        refuse(
            "E_NO_TIME",
            "the aggregate takes the time of rows, and rows of this stream have none",
            hint="declare the stream with a TIMESTAMP column and ORDER BY it",
            place=expr.place,
        )
    return scalars.bind(expr, time.copy())


def _fitted(expr: Expr, tree: exp.Expr, argument: Argument, scalars: ScalarBinder) -> Scalar:
    scalar = scalars.bind(expr, tree)
    if scalar.type == argument.type or is_widened(scalar.type, argument.type):
        return scalar
    if scalar.type.is_decimal and (argument.type.is_float or argument.type.is_decimal):
        return scalars.bind(expr, exp.cast(tree.copy(), argument.type.sql, dialect="spark"))
    refuse(
        "E_TYPE",
        f"argument {argument.name} is {argument.type}, and {scalar.sql} is {scalar.type}",
        hint=f"write CAST({scalar.sql} AS {argument.type})",
        place=place_in(expr, tree),
    )


def is_widened(actual: Type, declared: Type) -> bool:
    """True if Arrow makes the same of it as Spark's cast: numbers into wider ones.

    >>> from tidemill.types import BIGINT, DOUBLE, INT
    >>> is_widened(INT, BIGINT), is_widened(BIGINT, DOUBLE), is_widened(DOUBLE, BIGINT)
    (True, True, False)
    """
    if declared.is_integer:
        return actual.is_integer and INTEGER_BITS[actual.name] <= INTEGER_BITS[declared.name]
    return declared.is_float and (actual.is_integer or actual.name == "FLOAT")
