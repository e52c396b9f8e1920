"""Syntax to typed trees, for the expressions that are evaluated here.

One rule per class of syntax node; anything else raises `OutsideError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from tidemill.errors import listing, refuse, suggest
from tidemill.language.names import Name
from tidemill.plan import builders, type_rules
from tidemill.plan.builders import OutsideError
from tidemill.plan.expressions import Call, Literal, Node, Slot
from tidemill.types import BOOLEAN, STRING, VOID, Type, parse_type

_ARITHMETIC: dict[type, str] = {
    exp.Add: "add",
    exp.Sub: "sub",
    exp.Mul: "mul",
    exp.Div: "div",
    exp.Mod: "mod",
}
_COMPARISONS: dict[type, str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "same",
}
SlotsByName = Mapping[Name, Slot]


def slots_by_name(columns: Mapping[str, Type]) -> dict[Name, Slot]:
    """SlotsByName to be found by lower-case name, whatever the case they were declared in."""
    return {Name(name): Slot(str(name), type) for name, type in columns.items()}


def type_known(tree: exp.Expr, columns: SlotsByName) -> Node:
    """The typed tree, or `OutsideError`; `columns` as `slots_by_name` gives them."""
    for kind in type(tree).__mro__:
        if kind in _RULES:
            return _RULES[kind](tree, columns)
    raise OutsideError


def _column(tree: exp.Expr, columns: SlotsByName) -> Node:
    if tree.args.get("table"):
        raise OutsideError
    slot = columns.get(Name(tree.name))
    if slot is None:
        refuse(
            "E_UNKNOWN_COLUMN",
            f"no column '{tree.name}'",
            detail=listing("columns", (slot.name for slot in columns.values())),
            hint=suggest(tree.name, columns),
        )
    if not slot.type.is_atomic:
        raise OutsideError
    return slot


def _literal(tree: exp.Expr, _columns: SlotsByName) -> Node:
    return Literal(tree.name, STRING) if tree.is_string else _number(tree, negative=False)


def _number(tree: exp.Expr, *, negative: bool) -> Literal:
    found = type_rules.numeric(tree.name, negative=negative)
    if found is None:
        raise OutsideError
    return found


def _paren(tree: exp.Expr, columns: SlotsByName) -> Node:
    return type_known(tree.this, columns)


def _negation(tree: exp.Expr, columns: SlotsByName) -> Node:
    if isinstance(tree.this, exp.Literal) and not tree.this.is_string:
        return _number(tree.this, negative=True)
    return builders.sign_change("neg", type_known(tree.this, columns))


def _sides(tree: exp.Expr, columns: SlotsByName) -> tuple[Node, Node]:
    return type_known(tree.this, columns), type_known(tree.expression, columns)


def _arithmetic(tree: exp.Expr, columns: SlotsByName) -> Node:
    return builders.arithmetic(_ARITHMETIC[type(tree)], *_sides(tree, columns))


def _whole_division(tree: exp.Expr, columns: SlotsByName) -> Node:
    return builders.whole_division(*_sides(tree, columns))


def _comparison(tree: exp.Expr, columns: SlotsByName) -> Node:
    return builders.comparison(_COMPARISONS[type(tree)], *_sides(tree, columns))


def _connective(tree: exp.Expr, columns: SlotsByName) -> Node:
    left, right = map(builders.truth, _sides(tree, columns))
    return Call("and" if isinstance(tree, exp.And) else "or", (left, right), BOOLEAN)


def _not(tree: exp.Expr, columns: SlotsByName) -> Node:
    return Call("not", (builders.truth(type_known(tree.this, columns)),), BOOLEAN)


def _is(tree: exp.Expr, columns: SlotsByName) -> Node:
    operand, sought = type_known(tree.this, columns), tree.expression
    if isinstance(sought, exp.Null):
        return Call("is_null", (operand,), BOOLEAN)
    if isinstance(sought, exp.Boolean):
        return Call("same", (builders.truth(operand), Literal(sought.this, BOOLEAN)), BOOLEAN)
    raise OutsideError


def _in(tree: exp.Expr, columns: SlotsByName) -> Node:
    members = [type_known(member, columns) for member in tree.expressions]
    return builders.membership(type_known(tree.this, columns), members)


def _between(tree: exp.Expr, columns: SlotsByName) -> Node:
    if tree.args.get("symmetric"):
        raise OutsideError
    subject, low, high = (
        type_known(part, columns) for part in (tree.this, tree.args["low"], tree.args["high"])
    )
    above = builders.comparison("ge", subject, low)
    return Call("and", (above, builders.comparison("le", subject, high)), BOOLEAN)


def _case(tree: exp.Expr, columns: SlotsByName) -> Node:
    arms = tree.args["ifs"]
    tests = [type_known(arm.this, columns) for arm in arms]
    if tree.this:
        subject = type_known(tree.this, columns)
        tests = [builders.comparison("eq", subject, test) for test in tests]
    values = [type_known(arm.args["true"], columns) for arm in arms]
    default = tree.args.get("default")
    return builders.choice(tests, values, type_known(default, columns) if default else None)


def _cast(tree: exp.Expr, columns: SlotsByName) -> Node:
    target = _named_type(tree.args["to"])
    if isinstance(tree.this, exp.Literal) and tree.this.is_string:
        moment = type_rules.moment(tree.this.name, target)
        if moment is not None:
            return moment
    operand = type_known(tree.this, columns)
    return builders.conversion(operand, target, tried=bool(tree.args.get("safe")))


def _named_type(named: exp.Expr) -> Type:
    text = named.sql(dialect="spark")
    try:
        type = parse_type(text)
    except ValueError:
        raise OutsideError from None
    # VARCHAR(n) and CHAR(n) read as STRING, yet a cast to them looks at the length.
    if not type.is_atomic or (type == STRING and "(" in text):
        raise OutsideError
    return type


def _function(tree: exp.Expr, columns: SlotsByName) -> Node:
    return builders.function(tree.name, [type_known(each, columns) for each in tree.expressions])


_RULES: dict[type, Callable[[exp.Expr, SlotsByName], Node]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Null: lambda _tree, _columns: Literal(None, VOID),
    exp.Boolean: lambda tree, _columns: Literal(tree.this, BOOLEAN),
    exp.Paren: _paren,
    exp.Neg: _negation,
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    exp.IntDiv: _whole_division,
    **dict.fromkeys(_COMPARISONS, _comparison),
    exp.And: _connective,
    exp.Or: _connective,
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Anonymous: _function,
}
