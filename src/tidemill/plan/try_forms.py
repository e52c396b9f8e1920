"""The try_ form of any user expression: where Spark would raise, it gives NULL instead.

Operators and functions are replaced by siblings of the same result type; where there is no
sibling, the operand that would raise becomes NULL first. The types of columns, if given, choose
the leaner form for a minus sign and tell arrays from maps.

>>> import sqlglot
>>> to_spark_sql(sqlglot.parse_one("CAST(a AS INT) / b + 1"))
'TRY_ADD(TRY_DIVIDE(TRY_CAST(a AS INT), b), 1)'

Still able to raise, for want of a sibling: text that meets a number or a date in a comparison,
`element_at(array, 0)`, `make_date`, `conv`, `unix_timestamp` of text, `ceil` and `floor` of huge
doubles, ROUND and the sign of a decimal of over 34 digits at the very edge of their range, and
functions made to raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from tidemill.errors import TidemillError
from tidemill.language.expressions.dialect import TidemillDialect
from tidemill.language.names import Name
from tidemill.plan.builders import OutsideError
from tidemill.plan.typed_trees import slots_by_name, type_known
from tidemill.types import INTEGER_BITS, STRING, Type

TRY_FUNCTIONS = {
    name: f"TRY_{name}"
    for name in (
        "AES_DECRYPT",
        "ELEMENT_AT",
        "MAKE_INTERVAL",
        "MAKE_TIMESTAMP",
        "MAKE_TIMESTAMP_LTZ",
        "MAKE_TIMESTAMP_NTZ",
        "MOD",
        "PARSE_JSON",
        "PARSE_URL",
        "REFLECT",
        "TO_BINARY",
        "TO_DATE",
        "TO_NUMBER",
        "TO_TIME",
        "TO_TIMESTAMP",
        "URL_DECODE",
        "VALIDATE_UTF8",
        "VARIANT_ARRAY_APPEND",
        "VARIANT_GET",
        "VARIANT_INSERT",
        "VARIANT_SET",
    )
}
"""Functions that raise, by the name of the sibling that gives NULL."""

_OPERATORS: dict[type, str] = {
    exp.Add: "TRY_ADD",
    exp.Sub: "TRY_SUBTRACT",
    exp.Mul: "TRY_MULTIPLY",
    exp.Div: "TRY_DIVIDE",
    exp.Mod: "TRY_MOD",
}
# DOUBLE(x) and its like are casts in the dress of functions.
CAST_FUNCTIONS = (
    *INTEGER_BITS,
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    "STRING",
    "BINARY",
)
ColumnTypes = Mapping[str, Type]
Form = Callable[[exp.Expr, exp.Expr, ColumnTypes], exp.Expr]


def to_spark_sql(tree: exp.Expr, columns: ColumnTypes | None = None) -> str:
    """Spark SQL of the tree's type and values, but NULL where the tree would raise."""
    return str(_form(tree, columns or {}).sql(dialect=TidemillDialect, comments=False))


def _form(tree: exp.Expr, columns: ColumnTypes) -> exp.Expr:
    if _is_signed_literal(tree):
        return tree.copy()
    formed = tree.copy()
    for old, new in zip(tree.iter_expressions(), list(formed.iter_expressions()), strict=True):
        new.replace(_form(old, columns))
    for kind in type(tree).__mro__:
        if kind in _FORMS:
            return _FORMS[kind](formed, tree, columns)
    return formed


def _is_signed_literal(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal)


def _operator(formed: exp.Expr, tree: exp.Expr, _columns: ColumnTypes) -> exp.Expr:
    return _call(_OPERATORS[type(tree)], _bare(formed.this), _bare(formed.expression))


def _whole_division(formed: exp.Expr, _tree: exp.Expr, _columns: ColumnTypes) -> exp.Expr:
    # Besides zero, the one overflow is the smallest BIGINT by -1.
    over, under = formed.this, formed.expression
    minus_one = exp.EQ(this=under.copy(), expression=exp.Neg(this=exp.Literal.number(1)))
    zero = exp.Cast(this=exp.Literal.number(0), to=exp.DataType.build("BIGINT"))
    negated = _try_cast(_call("TRY_SUBTRACT", zero, _bare(over.copy())), "BIGINT")
    safe = exp.IntDiv(this=over, expression=_call("NULLIF", _bare(under), exp.Literal.number(0)))
    return exp.Paren(this=exp.Case(ifs=[_arm(minus_one, negated)], default=safe))


def _cast(formed: exp.Expr, _tree: exp.Expr, _columns: ColumnTypes) -> exp.Expr:
    return exp.TryCast(this=_bare(formed.this), to=formed.args["to"], safe=True)


def _negation(formed: exp.Expr, tree: exp.Expr, columns: ColumnTypes) -> exp.Expr:
    operand = _type_of(tree.this, columns)
    if operand is not None and operand.is_integer:
        return _call("TRY_SUBTRACT", _small(0), _bare(formed.this))
    return _unless_lowest(formed, formed.this, operand)


def _unless_lowest(negation: exp.Expr, operand: exp.Expr, type: Type | None) -> exp.Expr:
    """The sign change, NULL for the lowest integer, which has no opposite."""
    if type == STRING:
        operand.replace(_try_cast(operand.copy(), "DOUBLE"))
        return negation
    if type is not None and not type.is_integer:
        return negation
    opposite = _call("TRY_MULTIPLY", _bare(operand.copy()), _small(-1))
    present = exp.Not(this=exp.Is(this=opposite, expression=exp.Null()))
    return exp.Paren(this=exp.Case(ifs=[_arm(present, negation)]))


def _element(formed: exp.Expr, tree: exp.Expr, columns: ColumnTypes) -> exp.Expr:
    """`a[i]` counts from 0 and raises outside an array; a map gives NULL by itself."""
    base, indices = formed.this, formed.expressions
    if len(indices) != 1 or _is_map(tree, columns):
        return formed
    return _call("GET", base, _bare(indices[0]))


def _is_map(tree: exp.Expr, columns: ColumnTypes) -> bool:
    if isinstance(tree.this, exp.Column):
        declared = {Name(name): type for name, type in columns.items()}.get(Name(tree.this.name))
        if declared is not None:
            return declared.name.upper().startswith("MAP")
    return bool(tree.expressions[0].is_string)


def _function(formed: exp.Expr, tree: exp.Expr, columns: ColumnTypes) -> exp.Expr:
    name, arguments = formed.name.upper(), formed.expressions
    if name in TRY_FUNCTIONS:
        return _call(TRY_FUNCTIONS[name], *arguments)
    if name in CAST_FUNCTIONS and len(arguments) == 1:
        return _try_cast(arguments[0], name)
    if name in ("ABS", "NEGATIVE") and len(arguments) == 1:
        return _unless_lowest(formed, arguments[0], _type_of(tree.expressions[0], columns))
    if name == "PMOD" and len(arguments) == 2:
        return _call(name, arguments[0], _call("NULLIF", arguments[1], exp.Literal.number(0)))
    return formed


def _type_of(tree: exp.Expr, columns: ColumnTypes) -> Type | None:
    try:
        return type_known(tree, slots_by_name(columns)).type
    except (OutsideError, TidemillError):
        return None


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _small(value: int) -> exp.Expr:
    """A constant of the smallest type, which takes on the type of whatever it meets."""
    return exp.Cast(this=exp.Literal.number(value), to=exp.DataType.build("TINYINT"))


def _try_cast(operand: exp.Expr, target: str) -> exp.Expr:
    return exp.TryCast(this=operand, to=exp.DataType.build(target, dialect="spark"), safe=True)


def _arm(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.If(this=condition, true=value)


def _bare(node: exp.Expr) -> exp.Expr:
    """Between commas no parentheses are needed."""
    return _bare(node.this) if isinstance(node, exp.Paren) else node


_FORMS: dict[type, Form] = {
    **dict.fromkeys(_OPERATORS, _operator),
    exp.IntDiv: _whole_division,
    exp.Cast: _cast,
    exp.Neg: _negation,
    exp.Bracket: _element,
    exp.Anonymous: _function,
}
