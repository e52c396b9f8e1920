"""Random expressions over typed columns, and other ways to write one of them."""

from __future__ import annotations

from random import Random

from sqlglot import exp

from tidemill.errors import TidemillError
from tidemill.language.expressions.precedence import seated
from tidemill.language.expressions.trees import parse_tree, to_sql
from tidemill.plan.builders import OutsideError
from tidemill.plan.normal_form import opposite
from tidemill.plan.typed_trees import slots_by_name, type_known
from tidemill.types import parse_type

COLUMNS = {
    "t": "TINYINT",
    "i": "INT",
    "b": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "c": "DECIMAL(10,2)",
    "w": "DECIMAL(38,10)",
    "x": "STRING",
    "y": "STRING",
    "ok": "BOOLEAN",
}
TYPES = {name: parse_type(text) for name, text in COLUMNS.items()}
_NUMBERS = ("t", "i", "b", "f", "d", "c", "w")
_LITERALS = ("0", "1", "-1", "2147483647", "3000000000", "0.5", "1.25", "1e0", "-0e0", "NULL")
_TEXTS = ("x", "y", "'a'", "'b%'", "''", "UPPER(x)", "SUBSTR(y, 1, 1)", "NULL")
_NUMBER_FORMS = (
    *("({} {operator} {})",) * 4,
    "{} {operator} b",
    "CAST({} AS {kind})",
    "BIGINT({})",
    "COALESCE({})",
    "COALESCE({}, {})",
    "NVL({}, {})",
    "MOD({}, {})",
    "IF({condition}, {}, {})",
    "CASE WHEN {condition} THEN {} ELSE NULL END",
    "CASE {} WHEN {} THEN {} END",
    "-({})",
    "+({})",
)
_CONDITION_FORMS = (
    *("({number} {compare} {low})",) * 3,
    *("({} {joined} {})",) * 3,
    "({text} {compare} {other})",
    "NOT ({})",
    "({number} BETWEEN {low} AND {high})",
    "({number} IN (2, {member}, 1, 2))",
    "(x IN ({text}))",
    "(x NOT IN ({text}, 'a', 'a'))",
    "(x NOT LIKE 'a%')",
    "({number} IS NULL)",
    "({text} IS NULL)",
)
_MIRRORS: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GT,
    exp.GT: exp.LT,
    exp.LTE: exp.GTE,
    exp.GTE: exp.LTE,
}
_MIRRORS |= {kind: kind for kind in (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.Add, exp.Mul)}


def random_text(rng: Random, depth: int = 3) -> str:
    """A number or a condition, over the columns above."""
    return rng.choice((_number, _number, _condition))(rng, depth)


def _number(rng: Random, depth: int) -> str:
    if depth <= 0 or rng.random() < 0.1:
        return rng.choice([*_NUMBERS, *_NUMBERS, *_LITERALS])
    parts = [_number(rng, depth - rng.choice((1, 1, 2))) for _ in range(3)]
    return rng.choice(_NUMBER_FORMS).format(
        *parts,
        operator=rng.choice("++**-/%"),
        kind=rng.choice(("BIGINT", "DOUBLE", "INT", "DECIMAL(10,2)", "DECIMAL(38, 10)")),
        condition=_condition(rng, depth - 1),
    )


def _condition(rng: Random, depth: int) -> str:
    if depth <= 0:
        return rng.choice(("ok", "TRUE", "b > 1", "1 < b", "NOT ok"))
    parts = [_condition(rng, depth - rng.choice((1, 1, 2))) for _ in range(2)]
    return rng.choice(_CONDITION_FORMS).format(
        *parts,
        compare=rng.choice(("=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM")),
        joined=rng.choice(("AND", "OR")),
        text=rng.choice(_TEXTS),
        other=rng.choice(_TEXTS),
        number=_number(rng, depth - 1),
        low=_number(rng, depth - 2),
        high=_number(rng, depth - 2),
        member=rng.choice(("1", "0.5", "NULL")),
    )


def type_of(tree: exp.Expr):
    try:
        return type_known(tree, slots_by_name(TYPES)).type
    except (OutsideError, TidemillError):
        return None


def written_otherwise(rng: Random, text: str) -> str:
    """The same expression in other words."""
    holder = exp.Paren(this=parse_tree(text).copy())
    for node in reversed(list(holder.this.walk())):
        if rng.random() < 0.5:
            node.replace(_reworded(rng, node))
    return to_sql(holder.this)


def _reworded(rng: Random, node: exp.Expr) -> exp.Expr:
    kind = type_of(node)
    is_part = isinstance(node, exp.Literal | exp.Null | exp.Identifier | exp.DataType | exp.If)
    if kind is None or is_part or exp.Neg in (type(node), type(node.parent)):
        return node.copy()
    return exp.Paren(this=rng.choice(list(_other_words(node.copy(), kind))))


def _other_words(node: exp.Expr, kind):
    yield node
    if node.find(exp.Column) is not None:
        yield exp.Anonymous(this="COALESCE", expressions=[node.copy()])
        if kind.is_atomic and kind.name != "VOID":
            yield exp.Cast(this=node.copy(), to=exp.DataType.build(kind.sql, dialect="spark"))
        if kind.is_numeric:
            yield exp.Anonymous(this="POSITIVE", expressions=[node.copy()])
    if type(node) in _MIRRORS:
        swapped = _MIRRORS[type(node)](this=node.expression.copy(), expression=node.this.copy())
        yield seated(swapped)
    if isinstance(node, exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE):
        yield exp.Not(this=exp.Paren(this=opposite(node)))
