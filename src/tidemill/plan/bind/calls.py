"""The aggregate calls of one query: each distinct one once, with the slot of its result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tidemill.errors import refuse
from tidemill.language.statements import Expr, Window
from tidemill.plan.bind.clauses import with_subwindow
from tidemill.plan.bind.scalars import ScalarBinder
from tidemill.plan.bind.scope import aggregate_calls, function_name, place_in
from tidemill.plan.constants import constants_of, refuse_number
from tidemill.plan.expressions import Node, Slot
from tidemill.plan.functions import Signature, Signatures
from tidemill.plan.functions.decimals import MAX_DIGITS, SUM_DIGITS
from tidemill.plan.functions.user.calls import user_arguments, user_constants
from tidemill.plan.query import AggregateCall
from tidemill.plan.scalar import Scalar
from tidemill.types import BIGINT, DOUBLE


@dataclass
class CallBinder:
    """Slots are numbered in the order in which calls are first met; equal calls share one."""

    scalars: ScalarBinder
    window: Window
    _by_sql: dict[str, AggregateCall] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        return tuple(self._by_sql.values())

    def bind(self, expr: Expr, node: exp.Expr, function: str) -> AggregateCall:
        """The call that `node`, a part of `expr`, makes of an aggregate."""
        function, arguments = _counting_distinct(function, list(_arguments(node)))
        place = place_in(expr, node)
        signature = self._signatures.called(function, place)
        if signature.code is not None:
            return self._numbered(self._user_call(expr, node, signature, arguments))
        if not arguments:
            refuse_number(expr, node, signature, 0)
        weight = self._weight(expr, signature, arguments)
        first, *rest = arguments
        if not rest and _counts_rows(expr, node, first, function):
            return self._numbered(AggregateCall(Slot("", BIGINT), function, None))
        constants = constants_of(expr, node, signature, rest)
        if signature.by_subwindow:
            constants = with_subwindow(expr, node, constants, self.window)
        argument = self._argument(expr, first, signature)
        if wrong := signature.fits(argument.type, constants):
            refuse("E_TYPE", f"{function} over {argument.type} has no {wrong}", place=place)
        result = Slot("", signature.result_of(argument.type, weight.type if weight else None))
        weights = (weight,) if weight else ()
        return self._numbered(AggregateCall(result, function, argument, constants, weights))

    def parts(self, node: Node) -> Iterator[tuple[str, Slot]]:
        """What an answer that is just one aggregate has beside its value."""
        call = next((call for call in self.calls if call.slot == node), None)
        if call is None or call.argument is None:
            return
        for part, result in self._signatures.by_name[call.function].parts:
            slot = Slot("", result(call.argument.type))
            yield part, self._numbered(replace(call, slot=slot, part=part)).slot

    def estimated(self) -> tuple[Node, ...]:
        """For each call so far that estimates: 1 where it did, 0 where its value is exact."""
        calls = [c for c in self.calls if self._signatures.by_name[c.function].estimates]
        whole = (replace(c, slot=Slot("", DOUBLE), part="estimated") for c in calls if not c.part)
        return tuple(self._numbered(call).slot for call in whole)

    def _numbered(self, call: AggregateCall) -> AggregateCall:
        slot = replace(call.slot, name=f"_a{len(self._by_sql)}")
        return self._by_sql.setdefault(call.sql, replace(call, slot=slot))

    @property
    def _signatures(self) -> Signatures:
        return self.scalars.scope.aggregates

    def _argument(self, expr: Expr, tree: exp.Expr, signature: Signature) -> Scalar:
        self._refuse_odd(expr, tree, signature.name)
        scalar = self.scalars.bind(expr, tree)
        if cast := signature.cast(scalar.type):
            return self.scalars.bind(expr, exp.cast(tree.copy(), cast.sql, dialect="spark"))
        if not signature.accepts(scalar.type):
            refuse(
                "E_TYPE",
                f"{signature.name} over {scalar.type} is not defined",
                hint=f"{signature.name} takes {signature.takes}",
                place=place_in(expr, tree),
            )
        return scalar

    def _weight(self, expr: Expr, signature: Signature, arguments: list[exp.Expr]) -> Scalar | None:
        """The argument of a SUM(y) at the end, which is taken off."""
        if not signature.weighted or len(arguments) < 2 or function_name(arguments[-1]) != "SUM":
            return None
        summed, tree = self._signatures.by_name["SUM"], next(_arguments(arguments.pop()))
        weight = self._argument(expr, tree, summed)
        if weight.type.is_decimal and weight.type.precision > MAX_DIGITS - SUM_DIGITS:
            refuse(
                "E_TYPE",
                f"{signature.name} by the sum of {weight.type} is not built",
                hint=f"cast to a DECIMAL of up to {MAX_DIGITS - SUM_DIGITS} digits",
                place=place_in(expr, tree),
            )
        return weight

    def _user_call(
        self, expr: Expr, node: exp.Expr, signature: Signature, trees: list[exp.Expr]
    ) -> AggregateCall:
        count = len(signature.arguments)
        assert signature.code is not None
        if len(trees) < count:
            refuse_number(expr, node, signature, len(trees))
        for tree in trees:
            self._refuse_odd(expr, tree, signature.name)
        written = constants_of(expr, node, signature, trees[count:])
        constants = user_constants(expr, node, signature.code, written)
        arguments = user_arguments(expr, trees[:count], signature.code, self.scalars)
        slot = Slot("", signature.result(arguments[0].type))
        return AggregateCall(
            slot, signature.name, arguments[0], constants, arguments[1:], code=signature.code
        )

    def _refuse_odd(self, expr: Expr, tree: exp.Expr, function: str) -> None:
        if isinstance(tree, exp.Distinct):
            refuse(
                "E_NOT_BUILT",
                f"{function}(DISTINCT …) is not built yet",
                hint="COUNT(DISTINCT x) works; GROUP BY gives one row for each value",
                place=expr.place,
            )
        for inner, name in aggregate_calls(tree, self._signatures):
            refuse(
                "E_NESTED_AGGREGATE",
                f"aggregate {name} stands inside {function}",
                hint="an aggregate takes columns and expressions over them; take one of the two",
                place=place_in(expr, inner),
            )


def _arguments(node: exp.Expr) -> Iterator[exp.Expr]:
    found = node.expressions or ([node.this] if isinstance(node.this, exp.Expr) else [])
    return (argument.unnest() for argument in found)


def _counting_distinct(function: str, arguments: list[exp.Expr]) -> tuple[str, list[exp.Expr]]:
    """COUNT(DISTINCT x) is an aggregate of its own."""
    if function == "COUNT" and arguments and isinstance(arguments[0], exp.Distinct):
        return "COUNT_DISTINCT", [*arguments[0].expressions, *arguments[1:]]
    return function, arguments


def _counts_rows(expr: Expr, node: exp.Expr, first: exp.Expr, function: str) -> bool:
    """COUNT(*), and COUNT(1), which is the same."""
    if isinstance(first, exp.Star) and function != "COUNT":
        refuse("E_ARGUMENTS", f"{function}(*) means nothing", place=place_in(expr, node))
    return function == "COUNT" and isinstance(first, exp.Star | exp.Literal | exp.Boolean)
