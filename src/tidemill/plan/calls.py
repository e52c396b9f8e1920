"""The aggregate calls of one query: each distinct one once, with the slot of its result."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from tidemill.errors import refuse
from tidemill.language.statements import Expr
from tidemill.plan import aggregates
from tidemill.plan.expressions import Slot
from tidemill.plan.model import AggregateCall, Scalar
from tidemill.plan.scalars import ScalarBinder
from tidemill.plan.scope import aggregate_calls, place_in


@dataclass
class CallBinder:
    """Slots are numbered in the order in which calls are first met; equal calls share one."""

    scalars: ScalarBinder
    _by_sql: dict[str, AggregateCall] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        return tuple(self._by_sql.values())

    def bind(self, expr: Expr, node: exp.Expr, function: str) -> AggregateCall:
        """The call that `node`, a part of `expr`, makes of an aggregate."""
        place = place_in(expr, node)
        aggregates.refuse_unbuilt(function, place)
        argument = self._argument(expr, node, function)
        result = aggregates.result_type(function, argument.type if argument else None, place)
        call = AggregateCall(Slot(f"_a{len(self._by_sql)}", result), function, argument)
        return self._by_sql.setdefault(call.sql, call)

    def _argument(self, expr: Expr, node: exp.Expr, function: str) -> Scalar | None:
        tree = _only_argument(expr, node, function)
        if isinstance(tree, exp.Star):
            if function != "COUNT":
                refuse("E_ARGUMENTS", f"{function}(*) means nothing", place=place_in(expr, node))
            return None
        if function == "COUNT" and isinstance(tree, exp.Literal | exp.Boolean):
            return None  # COUNT(1) counts rows, as COUNT(*) does
        _refuse_distinct(expr, tree, function)
        _refuse_nested(expr, tree, function)
        scalar = self.scalars.bind(expr, tree)
        if cast := aggregates.cast_argument(function, scalar.type):
            return self.scalars.bind(expr, exp.cast(tree.copy(), cast.sql, dialect="spark"))
        return scalar


def _only_argument(expr: Expr, node: exp.Expr, function: str) -> exp.Expr:
    arguments = node.expressions or ([node.this] if isinstance(node.this, exp.Expr) else [])
    if len(arguments) != 1:
        refuse(
            "E_ARGUMENTS",
            f"{function} takes one argument, not {len(arguments)}",
            place=place_in(expr, node),
        )
    only: exp.Expr = arguments[0].unnest()
    return only


def _refuse_distinct(expr: Expr, tree: exp.Expr, function: str) -> None:
    if isinstance(tree, exp.Distinct):
        refuse(
            "E_NOT_BUILT",
            f"{function}(DISTINCT …) is not built yet",
            hint="GROUP BY the argument gives one row for each of its values",
            place=expr.place,
        )


def _refuse_nested(expr: Expr, tree: exp.Expr, function: str) -> None:
    for inner, name in aggregate_calls(tree):
        refuse(
            "E_NESTED_AGGREGATE",
            f"aggregate {name} stands inside {function}",
            hint="an aggregate takes columns and expressions over them; take one of the two",
            place=place_in(expr, inner),
        )
