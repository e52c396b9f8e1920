"""From syntax to a typed expression: evaluated here where we can, by Spark where we cannot.

An expression is taken over whole or not at all. What Spark would refuse is refused by the
oracle, with Spark's own reason.

>>> import sqlglot
>>> from tidemill.types import BIGINT, STRING
>>> def oracle(sql, columns):
...     return STRING
>>> columns = {"total": BIGINT, "rows": BIGINT}
>>> print(type_expression(sqlglot.parse_one("total / rows"), columns, oracle))
div(cast(total AS DOUBLE), cast(rows AS DOUBLE))
>>> print(type_expression(sqlglot.parse_one("total || 'x'"), columns, oracle))
spark[total || 'x']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from tidemill.catalog.names import Name
from tidemill.plan.builders import OutsideError
from tidemill.plan.expressions import Node, Opaque, is_vectorised
from tidemill.plan.raises import raised_sql
from tidemill.plan.try_forms import to_spark_sql
from tidemill.plan.typed_trees import slots_by_name, type_known
from tidemill.types import VOID, Type

__all__ = ["TypeOracle", "is_vectorised", "to_spark_sql", "type_expression"]

TypeOracle = Callable[[str, Mapping[str, Type]], Type]
"""(Spark SQL text, columns) ⇒ its type; refuses with E_TYPE or E_FUNCTION what Spark refuses."""


def type_expression(tree: exp.Expr, columns: Mapping[str, Type], oracle: TypeOracle) -> Node:
    """The typed tree, or one `Opaque` for the whole expression; names in any case."""
    named, alone = slots_by_name(columns), tree.unnest()
    slot = named.get(Name(alone.name)) if isinstance(alone, exp.Column) else None
    if slot is not None and slot.type.inner:
        # What an aggregate gives is known whatever its type; operators over it are Spark's.
        return slot
    try:
        node = type_known(tree, named)
    except OutsideError:
        return _opaque(tree, columns, oracle)
    # A bare NULL has no array type of its own worth carrying.
    return node if node.type != VOID else _opaque(tree, columns, oracle)


def _opaque(tree: exp.Expr, columns: Mapping[str, Type], oracle: TypeOracle) -> Opaque:
    sql = to_spark_sql(tree, columns)
    return Opaque(sql, oracle(sql, columns), raised_sql(tree, columns))
