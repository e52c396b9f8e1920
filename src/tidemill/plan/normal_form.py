"""One form for all ways to write an expression that are proven to mean the same.

A rule keeps three things for every row: the value, its type, and whether Spark would have
raised. Where that hangs on types, all of them have to be known. So operands of `+` and `*`
change places, and none is ever regrouped: another grouping overflows elsewhere, and rounds
floats otherwise. What AND and OR join changes places only where none of it can raise.

>>> from tidemill.language.expressions.trees import parse_tree, to_sql
>>> from tidemill.types import BIGINT
>>> def form(text):
...     return to_sql(normal_form(parse_tree(text), {"length": BIGINT, "port": BIGINT}))
>>> form("port * (1 + CAST(length AS BIGINT))"), form("NOT 80 < port"), form("port IN (443, 80)")
('(length + 1) * port', 'port <= 80', 'port IN (80, 443)')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce

from sqlglot import exp

from tidemill.errors import TidemillError
from tidemill.language.expressions.precedence import seated
from tidemill.language.expressions.trees import to_sql
from tidemill.language.names import Name
from tidemill.plan.builders import OutsideError
from tidemill.plan.expressions import Slot
from tidemill.plan.raises import needs_guard, raised_sql
from tidemill.plan.try_forms import CAST_FUNCTIONS
from tidemill.plan.typed_trees import slots_by_name, type_known
from tidemill.types import BOOLEAN, Type

_COMMUTATIVE = (exp.Add, exp.Mul)
# Each comparison with its sides swapped, and what is true where it is false.
_MIRRORS: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.NullSafeEQ: exp.NullSafeEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
OPPOSITES: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}
_LIKES = (exp.Like, exp.ILike, exp.RegexpLike)
_TRUTHS = frozenset((exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, *_LIKES, *_MIRRORS))
# Spark has one expression for both names.
_SYNONYMS = {
    "CEILING": "CEIL",
    "CHAR_LENGTH": "LENGTH",
    "CHARACTER_LENGTH": "LENGTH",
    "LCASE": "LOWER",
    "LEN": "LENGTH",
    "POW": "POWER",
    "SUBSTR": "SUBSTRING",
    "UCASE": "UPPER",
}
# Inside these nothing is touched: names may mean something else there, or hang on parentheses.
_CLOSED = (
    *(exp.Lambda, exp.Dot, exp.Bracket, exp.Kwarg, exp.Interval, exp.Extract, exp.DataType),
    *(exp.Any, exp.All, exp.Escape, exp.Column),
)


def normal_form(tree: exp.Expr, columns: Mapping[str, Type]) -> exp.Expr:
    """The tree in the form that all its equals have; the tree itself is left as it is."""
    if isinstance(tree, exp.Column):
        return tree
    return _Rewriting(columns).of(tree.copy())


@dataclass(frozen=True)
class _Rewriting:
    """From the leaves up; every part is in normal form, with parentheses only where needed."""

    columns: Mapping[str, Type]

    def of(self, tree: exp.Expr) -> exp.Expr:
        if isinstance(tree, exp.Paren):
            return self.of(tree.this)
        if isinstance(tree, _CLOSED) or _is_signed_literal(tree):
            return tree
        for part in list(tree.iter_expressions()):
            part.replace(self.of(part))
        rule = next((_RULES[kind] for kind in type(tree).__mro__ if kind in _RULES), None)
        return seated(rule(self, tree) if rule else tree)

    @cached_property
    def _slots(self) -> Mapping[Name, Slot]:
        return slots_by_name(self.columns)

    def _type(self, tree: exp.Expr) -> Type | None:
        """The type of a tree in which all types are known."""
        try:
            return type_known(tree, self._slots).type
        except (OutsideError, TidemillError):
            return None

    def _never_raises(self, tree: exp.Expr) -> bool:
        return not raised_sql(tree, self.columns) and not needs_guard(tree, self.columns)

    def _swapped(self, tree: exp.Expr) -> exp.Expr:
        """The operands of a commutative operator in order."""
        left, right = tree.this, tree.expression
        if _are_ordered(left, right) or self._type(tree) is None:
            return tree
        return type(tree)(this=_bare(right), expression=_bare(left))

    def _compared(self, tree: exp.Expr) -> exp.Expr:
        left, right = tree.this, tree.expression
        if _are_ordered(left, right) or self._type(tree) is None:
            return tree
        return seated(_MIRRORS[type(tree)](this=_bare(right), expression=_bare(left)))

    def _distinct(self, tree: exp.Expr) -> exp.Expr:
        """IS DISTINCT FROM is the opposite of `<=>`."""
        same = exp.NullSafeEQ(this=tree.this, expression=tree.expression)
        return exp.Not(this=self._compared(seated(same)))

    def _negated(self, tree: exp.Expr) -> exp.Expr:
        inner = _bare(tree.this)
        if isinstance(inner, exp.Not) and self._is_truth(inner.this):
            return _bare(inner.this)
        # Spark itself reads `<>` as NOT and `=`; the others need an order that is known.
        plain = isinstance(inner, exp.EQ | exp.NEQ)
        if plain or (type(inner) in OPPOSITES and self._type(inner) is not None):
            return opposite(inner)
        return tree

    def _is_truth(self, tree: exp.Expr) -> bool:
        return type(_bare(tree)) in _TRUTHS or self._type(tree) == BOOLEAN

    def _joined(self, tree: exp.Expr) -> exp.Expr:
        """The operands of AND, or of OR, each once and in order."""
        if not self._never_raises(tree):
            return tree
        parts = {to_sql(part): part for part in _flat(type(tree), tree)}
        if len(parts) == 1 and not all(map(self._is_truth, parts.values())):
            return tree
        ordered = (parts[text] for text in sorted(parts))
        return reduce(lambda left, right: seated(_pair(type(tree), left, right)), ordered)

    def _between(self, tree: exp.Expr) -> exp.Expr:
        if self._type(tree) is None or not self._never_raises(tree):
            return tree
        subject = _bare(tree.this)
        above = exp.GTE(this=subject, expression=_bare(tree.args["low"]))
        below = exp.LTE(this=subject.copy(), expression=_bare(tree.args["high"]))
        low, high = (self._compared(seated(bound)) for bound in (above, below))
        return self._joined(seated(exp.And(this=low, expression=high)))

    def _members(self, tree: exp.Expr) -> exp.Expr:
        if self._type(tree) is None:
            return tree
        by_text = {to_sql(member): member for member in tree.expressions}
        # Short ones first: so whole numbers stand in order, too.
        members = [by_text[text] for text in sorted(by_text, key=lambda text: (len(text), text))]
        if len(members) > 1:
            return exp.In(this=tree.this, expressions=members)
        return self._compared(seated(exp.EQ(this=tree.this, expression=members[0])))

    def _cast(self, tree: exp.Expr) -> exp.Expr:
        """A cast to the type that is there already changes nothing."""
        if (target := self._type(tree)) is None:
            return tree
        if self._type(tree.this) == target and not _is_constant(tree.this):
            return _operand(tree)
        tree.set("to", exp.DataType.build(target.sql, dialect="spark"))
        return tree

    def _case(self, tree: exp.Expr) -> exp.Expr:
        if self._type(tree) is None:
            return tree
        if (subject := tree.args.get("this")) is not None:
            for arm in tree.args["ifs"]:
                equal = exp.EQ(this=subject.copy(), expression=arm.this.copy())
                arm.set("this", self._compared(seated(equal)))
            tree.set("this", None)
        if isinstance(tree.args.get("default"), exp.Null):
            tree.set("default", None)
        return tree

    def _call(self, tree: exp.Expr) -> exp.Expr:
        name, arguments = tree.name.upper(), list[exp.Expr](tree.expressions)
        if name in CAST_FUNCTIONS and len(arguments) == 1:
            kind = exp.DataType.build(name, dialect="spark")
            return self._cast(exp.Cast(this=arguments[0], to=kind))
        if name in _SYNONYMS:
            tree.set("this", _SYNONYMS[name])
        if len(arguments) == 1 and self._is_identity(name, arguments[0]):
            return arguments[0]
        return tree if self._type(tree) is None else self._known_call(tree, name, arguments)

    def _is_identity(self, name: str, argument: exp.Expr) -> bool:
        """True if the function gives its argument back; POSITIVE is a plus sign."""
        if _is_constant(argument):
            return False
        kind = self._type(argument)
        return name == "COALESCE" or (name == "POSITIVE" and kind is not None and kind.is_numeric)

    def _known_call(self, tree: exp.Expr, name: str, arguments: list[exp.Expr]) -> exp.Expr:
        if name in ("NVL", "IFNULL"):
            tree.set("this", "COALESCE")
        if name == "MOD":
            return exp.Mod(this=arguments[0], expression=arguments[1])
        if name == "IF":
            test, value, default = arguments
            return self._case(exp.Case(ifs=[exp.If(this=test, true=value)], default=default))
        return tree


def _pair(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return kind(this=left, expression=right)


def opposite(comparison: exp.Expr) -> exp.Expr:
    """The comparison that is true where this one is false."""
    return OPPOSITES[type(comparison)](**comparison.copy().args)


def _like(_: _Rewriting, tree: exp.Expr) -> exp.Expr:
    """NOT LIKE is the opposite of LIKE."""
    if not tree.args.get("negate"):
        return tree
    tree.set("negate", None)
    return exp.Not(this=tree)


def _are_ordered(left: exp.Expr, right: exp.Expr) -> bool:
    """Constants come last, and else it goes by the text."""
    if (last := _is_constant(right)) != _is_constant(left):
        return last
    return to_sql(_bare(left)) <= to_sql(_bare(right))


def _is_constant(tree: exp.Expr) -> bool:
    """True if no column is read; Spark may find a constant's type by where it stands."""
    return tree.find(exp.Column) is None


def _flat(kind: type[exp.Expr], tree: exp.Expr) -> Iterator[exp.Expr]:
    tree = _bare(tree)
    if type(tree) is not kind:
        yield tree
        return
    yield from _flat(kind, tree.this)
    yield from _flat(kind, tree.expression)


def _bare(tree: exp.Expr) -> exp.Expr:
    return _bare(tree.this) if isinstance(tree, exp.Paren) else tree


def _operand(tree: exp.Expr) -> exp.Expr:
    operand: exp.Expr = tree.this
    return operand


def _is_signed_literal(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal)


_RULES: dict[type[exp.Expr], Callable[[_Rewriting, exp.Expr], exp.Expr]] = {
    **dict.fromkeys(_COMMUTATIVE, _Rewriting._swapped),
    **dict.fromkeys(_MIRRORS, _Rewriting._compared),
    exp.NullSafeNEQ: _Rewriting._distinct,
    exp.Not: _Rewriting._negated,
    exp.And: _Rewriting._joined,
    exp.Or: _Rewriting._joined,
    exp.Between: _Rewriting._between,
    exp.In: _Rewriting._members,
    exp.Cast: _Rewriting._cast,
    exp.Case: _Rewriting._case,
    exp.Anonymous: _Rewriting._call,
    **dict.fromkeys(_LIKES, _like),
}
