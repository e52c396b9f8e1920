"""Tuple-level expressions ⇒ scalars: WHERE, group keys and the arguments of aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from tidemill.errors import TidemillError
from tidemill.language.expressions.trees import to_sql
from tidemill.language.statements import Expr
from tidemill.plan.bind.scope import Scope, check_replayable
from tidemill.plan.expressions import Node, Opaque
from tidemill.plan.raises import needs_guard, raised_sql
from tidemill.plan.scalar import Scalar
from tidemill.plan.try_forms import to_spark_sql
from tidemill.plan.typing import TypeOracle, type_expression
from tidemill.types import Type


@dataclass(frozen=True)
class ScalarBinder:
    """Binds resolved trees over the columns of a scope."""

    scope: Scope
    oracle: TypeOracle

    def bind(self, expr: Expr, tree: exp.Expr) -> Scalar:
        """`tree` is all or a part of `expr`, which says where a refusal points."""
        check_replayable(expr, tree)
        node = type_placed(expr, tree, self._types, self.oracle)
        return Scalar(
            sql=to_sql(tree),
            try_sql=to_spark_sql(tree, self._types),
            type=node.type,
            columns=self.scope.columns_of(tree),
            joined=self.scope.joined_of(tree),
            raised_sql=raised_sql(tree, self._types),
            guarded=isinstance(node, Opaque) and needs_guard(tree, self._types),
        )

    @cached_property
    def _types(self) -> dict[str, Type]:
        return {key: column.type for key, column in self.scope.columns.items()}


def type_placed(expr: Expr, tree: exp.Expr, types: Mapping[str, Type], oracle: TypeOracle) -> Node:
    """The typed expression; a refusal without a place gets that of `expr`."""
    try:
        return type_expression(tree, types, oracle)
    except TidemillError as error:
        if error.problem.place is not None:
            raise
        raise TidemillError(replace(error.problem, place=expr.place)) from None
