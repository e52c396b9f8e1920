"""The constants of an aggregate call: what stands after its argument, by place or by name."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import NoReturn

from sqlglot import exp

from tidemill.catalog.names import Name
from tidemill.errors import listing, refuse, suggest
from tidemill.language.expressions.trees import to_sql
from tidemill.language.statements import Expr
from tidemill.plan.bind.scope import place_in
from tidemill.plan.expressions import Value
from tidemill.plan.functions import Parameter, Signature


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
