"""The aggregate calls of one query: each distinct one once, with its constants and its slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NoReturn

from sqlglot import exp

from tidemill.durations import parse_duration_at, render_duration
from tidemill.errors import listing, refuse, suggest
from tidemill.language.expressions.trees import to_sql
from tidemill.language.names import Name
from tidemill.language.not_built import refuse_unbuilt
from tidemill.language.statements import Expr, Window
from tidemill.plan.bind.clauses import ScalarBinder
from tidemill.plan.bind.scope import aggregate_calls, function_name, place_in
from tidemill.plan.expressions import Node, Scalar, Slot, Value
from tidemill.plan.functions import IGNORE_NULLS, Parameter, Signature, Signatures
from tidemill.plan.functions.decimals import MAX_DIGITS, SUM_DIGITS
from tidemill.plan.functions.user.calls import user_arguments, user_constants
from tidemill.plan.query import AggregateCall
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

    def add(self, calls: Iterable[AggregateCall]) -> None:
        """Calls that were bound before, after the very calls that there are."""
        self._by_sql.update((call.sql, call) for call in calls)

    def bind(self, expr: Expr, node: exp.Expr, function: str) -> AggregateCall:
        """The call that `node`, a part of `expr`, makes of an aggregate."""
        node, nulls = called(node), node
        function, arguments = _counting_distinct(function, list(_arguments(node)))
        place = place_in(expr, node)
        signature = self._signatures.called(function, place)
        if nulls is not node:
            arguments.append(self._nulls_argument(expr, nulls, signature))
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
            constants = _with_subwindow(expr, node, constants, self.window)
        argument = self._argument(expr, first, signature)
        if wrong := signature.fits(argument.type, constants):
            refuse("E_TYPE", f"{function} over {argument.type} has no {wrong}", place=place)
        result = Slot("", signature.result_of(argument.type, weight.type if weight else None))
        weights = (weight,) if weight else ()
        return self._numbered(AggregateCall(result, function, argument, constants, weights))

    def parts(self, node: Node) -> Iterator[tuple[str, Slot]]:
        """The further parts of an answer that is just one aggregate."""
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

    def _nulls_argument(self, expr: Expr, nulls: exp.Expr, signature: Signature) -> exp.Expr:
        """IGNORE NULLS and RESPECT NULLS behind a call, as the constant that says the same."""
        word = "IGNORE" if isinstance(nulls, exp.IgnoreNulls) else "RESPECT"
        if all(parameter.name != IGNORE_NULLS for parameter in signature.parameters):
            names = " and ".join(self._signatures.ignoring_nulls())
            hint = f"only {names} see NULLs; others leave them out, as SUM(x) and COUNT(x) do"
            _refuse(expr, nulls, f"{signature.name} takes no {word} NULLS", hint)
        value = exp.Boolean(this=word == "IGNORE")
        return exp.Kwarg(this=exp.var(IGNORE_NULLS), expression=value)

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
            hint = "COUNT(DISTINCT x) works; GROUP BY gives one row for each value"
            refuse_unbuilt(f"{function}(DISTINCT …)", hint, expr.place)
        for inner, name in aggregate_calls(tree, self._signatures):
            refuse(
                "E_NESTED_AGGREGATE",
                f"aggregate {name} stands inside {function}",
                hint="an aggregate takes columns and expressions over them; take one of the two",
                place=place_in(expr, inner),
            )


def called(node: exp.Expr) -> exp.Expr:
    """The call itself, where something is said behind it about NULLs."""
    said = isinstance(node, exp.IgnoreNulls | exp.RespectNulls)
    return node.this if said else node


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


def constants_of(
    expr: Expr, node: exp.Expr, signature: Signature, trees: Sequence[exp.Expr]
) -> tuple[Value, ...]:
    """A value for each parameter, in their order."""
    named = [tree for tree in trees if isinstance(tree, exp.Kwarg)]
    by_place = trees[: len(trees) - len(named)]
    if len(by_place) > len(signature.parameters):
        refuse_number(expr, node, signature, len(signature.arguments) + len(by_place))
    values: dict[str, Value] = {}
    for parameter, tree in zip(signature.parameters, by_place, strict=False):
        values[parameter.name] = _constant(expr, tree, signature, parameter)
    for tree in named:
        parameter = _named(expr, tree, signature)
        if parameter.name in values:
            _refuse(expr, tree, f"{parameter.name} is given twice")
        values[parameter.name] = _constant(expr, tree.expression, signature, parameter)
    if any(p.is_required and p.name not in values for p in signature.parameters):
        refuse_number(expr, node, signature, len(signature.arguments) + len(trees))
    return tuple(values.get(p.name, p.default) for p in signature.parameters)


def refuse_number(expr: Expr, node: exp.Expr, signature: Signature, found: int) -> NoReturn:
    """As many arguments as the aggregate does not take."""
    name = signature.form.partition("(")[0]
    given = f"{found} argument{'' if found == 1 else 's'}"
    _refuse(expr, node, f"{name} is called as {signature.form}, not with {given}")


def _named(expr: Expr, tree: exp.Kwarg, signature: Signature) -> Parameter:
    name = Name(tree.name)
    names = [parameter.name for parameter in signature.parameters]
    if name not in names:
        hint = suggest(name, names) or listing("parameters", names)
        _refuse(expr, tree, f"{signature.name} has no parameter '{name}'", hint)
    return signature.parameters[names.index(name)]


def _constant(expr: Expr, tree: exp.Expr, signature: Signature, parameter: Parameter) -> Value:
    negative = isinstance(tree, exp.Neg)
    literal = tree.this if negative else tree
    if not isinstance(literal, exp.Literal | exp.Boolean):
        _refuse(
            expr,
            tree,
            f"{parameter.name} of {signature.name} is no constant",
            hint="write a number, or a text in quotes",
        )
    value = _value(literal)
    if negative and not isinstance(value, str | bool):
        value = -value
    if wrong := parameter.wrong(value):
        _refuse(expr, tree, f"{parameter.name} of {signature.name} is {to_sql(tree)}: {wrong}")
    return value


def _value(literal: exp.Literal | exp.Boolean) -> bool | int | Decimal | str:
    if isinstance(literal, exp.Boolean):
        return bool(literal.this)
    if literal.is_string:
        return str(literal.this)
    return int(literal.this) if literal.is_int else Decimal(literal.this)


def _refuse(expr: Expr, tree: exp.Expr, primary: str, hint: str = "") -> NoReturn:
    refuse("E_ARGUMENTS", primary, hint=hint, place=place_in(expr, tree))


def _with_subwindow(
    expr: Expr, node: exp.Expr, constants: tuple[Value, ...], window: Window
) -> tuple[Value, ...]:
    """The constants of FREQUENT with its sub-window in canonical form; the slide by default.

    Rows are counted between the edges of windows, so that is where sub-windows can end: they
    are as long as slides.
    """
    most, duration = constants
    place, slide_us = place_in(expr, node), window.grid_us
    subwindow_us = slide_us
    if isinstance(duration, str):
        subwindow_us = parse_duration_at(duration, "", place)
    if subwindow_us <= 0 or subwindow_us % slide_us:
        refuse(
            "E_SUBWINDOW",
            f"a sub-window of {render_duration(subwindow_us)} is not made of whole slides of "
            f"{render_duration(slide_us)}",
            hint="FREQUENT counts by the slide, or by several slides",
            place=place,
        )
    return most, render_duration(subwindow_us)
