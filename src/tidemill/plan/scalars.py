"""A tuple-level expression from its tree: the one place where its text and forms are made.

So equal text is equal meaning, whoever asks: group keys, arguments, conditions and joins.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from tidemill.language.expressions.trees import parse_tree, to_sql
from tidemill.plan.expressions import Scalar, TableColumn
from tidemill.plan.normal_form import normal_form
from tidemill.plan.raises import needs_guard, raised_sql
from tidemill.plan.try_forms import to_spark_sql
from tidemill.types import Type


def make_scalar(
    normal: exp.Expr,
    types: Mapping[str, Type],
    type: Type,
    columns: tuple[str, ...],
    joined: tuple[TableColumn, ...] = (),
) -> Scalar:
    """The scalar of a resolved tree in normal form; `types` are those of all columns."""
    if isinstance(normal, exp.Column):
        text = to_sql(normal)
        return Scalar(sql=text, try_sql=text, type=type, columns=columns, joined=joined)
    return Scalar(
        sql=to_sql(normal),
        try_sql=to_spark_sql(normal, types),
        type=type,
        columns=columns,
        joined=joined,
        raised_sql=raised_sql(normal, types),
        guarded=needs_guard(normal, types),
    )


def normal_text(text: str, types: Mapping[str, Type]) -> str:
    """The text of the scalar that an expression makes."""
    return to_sql(normal_form(parse_tree(text), types))


def restate(scalar: Scalar, types: Mapping[str, Type]) -> Scalar:
    """A scalar that an earlier release may have written, as it is made now."""
    normal = normal_form(parse_tree(scalar.sql), types)
    return make_scalar(normal, types, scalar.type, scalar.columns, scalar.joined)
