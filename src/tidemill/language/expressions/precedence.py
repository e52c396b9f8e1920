"""The ladder of Spark's operators, in place of sqlglot's.

Spark differs in that a comparison binds tighter than IN, BETWEEN, LIKE and IS, that one operand
takes at most one of those, and that `&`, `^`, `|` and the shifts each have a rank of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parser import binary_range_parser
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from tidemill.errors import Place

Build = Callable[[Any, Any], exp.Expr]


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """A plain function call."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def _binary(node: type[exp.Expr]) -> Build:
    return lambda left, right: node(this=left, expression=right)


# Loosest first; the index is the rank. Operators of one rank group from the left.
_LADDER: tuple[dict[TokenType, Build], ...] = (
    {
        TokenType.EQ: _binary(exp.EQ),
        TokenType.NEQ: _binary(exp.NEQ),
        TokenType.NULLSAFE_EQ: _binary(exp.NullSafeEQ),
        TokenType.LT: _binary(exp.LT),
        TokenType.LTE: _binary(exp.LTE),
        TokenType.GT: _binary(exp.GT),
        TokenType.GTE: _binary(exp.GTE),
    },
    {TokenType.PIPE: _binary(exp.BitwiseOr)},
    {TokenType.CARET: _binary(exp.BitwiseXor)},
    {TokenType.AMP: _binary(exp.BitwiseAnd)},
    {},  # shifts: they are several tokens, see `_shift_ahead`
    {
        TokenType.PLUS: _binary(exp.Add),
        TokenType.DASH: _binary(exp.Sub),
        TokenType.DPIPE: _binary(exp.DPipe),
    },
    {
        TokenType.STAR: _binary(exp.Mul),
        TokenType.SLASH: _binary(exp.Div),
        TokenType.MOD: _binary(exp.Mod),
        TokenType.DIV: _binary(exp.IntDiv),
    },
)
_RANKED = {token: (rank, build) for rank, row in enumerate(_LADDER) for token, build in row.items()}
_SHIFT_RANK = 4
_SHIFTS = (
    ((TokenType.GT,) * 3, "SHIFTRIGHTUNSIGNED"),
    ((TokenType.GT,) * 2, "SHIFTRIGHT"),
    ((TokenType.LT,) * 2, "SHIFTLEFT"),
)
COMPARISONS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_PREDICATES = (exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike)
_SIGNS = (exp.Neg, exp.BitwiseNot)
# How tightly nodes bind, loosest first; what is not listed needs no parentheses anywhere.
_TIES: dict[type[exp.Expr], int] = {
    kind: rank
    for rank, kinds in enumerate(
        (
            (exp.Or,),
            (exp.And,),
            (exp.Not,),
            (*_PREDICATES, exp.NullSafeNEQ, exp.Escape),
            COMPARISONS,
            (exp.BitwiseOr,),
            (exp.BitwiseXor,),
            (exp.BitwiseAnd,),
            (exp.Add, exp.Sub, exp.DPipe),
            (exp.Mul, exp.Div, exp.Mod, exp.IntDiv),
            _SIGNS,
        )
    )
    for kind in kinds
}
_TIGHTEST = len(_TIES)


def seated(tree: exp.Expr) -> exp.Expr:
    """The node with parentheses around operands that would be read as something else."""
    for place, operand in list(tree.args.items()) if type(tree) in _TIES else ():
        if isinstance(operand, exp.Expr) and _needs_parentheses(tree, place, operand):
            tree.set(place, exp.Paren(this=operand))
    return tree


def _needs_parentheses(tree: exp.Expr, place: str, operand: exp.Expr) -> bool:
    # A sign before a number would become a part of it: -(2147483648) is no INT.
    signed = isinstance(tree, exp.Neg) and isinstance(operand, exp.Literal)
    return signed or _TIES.get(type(operand), _TIGHTEST) < _least(tree, place)


def _least(tree: exp.Expr, place: str) -> int:
    """The least rank that an operand must have; operators of one rank group from the left."""
    if isinstance(tree, _PREDICATES):
        return _TIES[exp.EQ] if place == "this" else _TIES[exp.EQ] + 1
    return _TIES[type(tree)] + (place != "this")


class PlacedParseError(ParseError):
    """A parse error that knows its span, which sqlglot's own gives only as line and column."""

    def __init__(self, message: str, place: Place | None) -> None:
        super().__init__(message)
        self.place = place


class LadderParser(SparkParser):
    """Operators and predicates; what stands between them is left to sqlglot."""

    RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
        TokenType.BETWEEN: lambda self, this: self._parse_between(this),
        TokenType.IN: lambda self, this: self._parse_in(this),
        TokenType.IS: lambda self, this: self._parse_is(this),
        TokenType.LIKE: binary_range_parser(exp.Like),
        TokenType.ILIKE: binary_range_parser(exp.ILike),
        TokenType.RLIKE: binary_range_parser(exp.RegexpLike),
    }
    UNARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        TokenType.PLUS: lambda self: call("POSITIVE", self._parse_operand()),
        TokenType.TILDE: lambda self: exp.BitwiseNot(this=self._parse_operand()),
        TokenType.DASH: lambda self: self._parse_negative(),
    }

    def parse_prefix(self, tokens: Sequence[Token], text: str) -> tuple[exp.Expr, int]:
        """The expression at the start of the tokens, and how many of them it takes."""
        count = 0

        def read(parser: Any) -> exp.Expr | None:
            nonlocal count
            tree: exp.Expr | None = parser._parse_disjunction()
            count = parser._index
            parser._advance(len(tokens) - count)
            return tree

        trees = self._parse(read, list(tokens), text)
        if not trees or trees[0] is None:
            self._fail_at("Expecting an expression", tokens[0] if tokens else None)
        return trees[0], count

    def parse_data_type(self, tokens: Sequence[Token], text: str) -> exp.Expr:
        """The data type that all of the tokens spell."""
        trees = self._parse(lambda parser: parser._parse_types(), list(tokens), text)
        if not trees or trees[0] is None:
            self._fail_at("Expecting a data type", tokens[0] if tokens else None)
        return trees[0]

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        self._fail_at(message, token or self._curr or self._prev)

    def _fail_at(self, message: str, token: Token | None) -> NoReturn:
        raise PlacedParseError(message, Place(token.start, token.end + 1) if token else None)

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        if self._match(TokenType.NOT):
            return self.expression(exp.Not(this=self._parse_equality()))
        return self._parse_predicate(self._parse_bitwise())

    def _parse_predicate(self, this: exp.Expr | None) -> exp.Expr | None:
        negated = self._match(TokenType.NOT)
        if this is not None and self._match_set(self.RANGE_PARSERS):
            tested: exp.Expr | None = self.RANGE_PARSERS[self._prev.token_type](self, this)
            return self._negate_range(tested) if negated else tested
        if negated:
            self._retreat(self._index - 1)
        return this

    def _parse_is(self, this: exp.Expr | None) -> exp.Expr | None:
        negated = self._match(TokenType.NOT)
        if self._match_text_seq("DISTINCT", "FROM"):
            return self._distinct_from(this, self._parse_operators(0), bool(negated))
        tested = self.expression(exp.Is(this=this, expression=self._parse_truth()))
        return self.expression(exp.Not(this=tested)) if negated else tested

    def _distinct_from(self, left: Any, right: Any, negated: bool) -> exp.Expr:
        # `<=>` groups from the left, so a comparison on the right keeps its parentheses.
        wrapped = exp.Paren(this=right) if isinstance(right, COMPARISONS) else right
        node = exp.NullSafeEQ if negated else exp.NullSafeNEQ
        return self.expression(node(this=left, expression=wrapped))

    def _parse_truth(self) -> exp.Expr:
        if self._match_texts(("NULL", "UNKNOWN")):
            return exp.Null()
        if self._match_texts(("TRUE", "FALSE")):
            return exp.Boolean(this=self._prev.text.upper() == "TRUE")
        self.raise_error("Expecting NULL, TRUE, FALSE or DISTINCT FROM")

    def _parse_bitwise(self) -> exp.Expr | None:
        return self._parse_operators(0)

    def _parse_operators(self, loosest: int) -> exp.Expr | None:
        """Operands joined by operators of this rank or tighter."""
        this = self._parse_unary()
        while this is not None and (ahead := self._operator_ahead()) and ahead[0] >= loosest:
            rank, width, build = ahead
            self._advance(width)
            right = self._parse_operators(rank + 1)
            if right is None:
                self.raise_error("Expecting an operand")
            this = self.expression(build(this, right))
        return this

    def _operator_ahead(self) -> tuple[int, int, Build] | None:
        if shift := self._shift_ahead():
            return shift
        ranked = _RANKED.get(self._curr.token_type) if self._curr else None
        return (ranked[0], 1, ranked[1]) if ranked else None

    def _shift_ahead(self) -> tuple[int, int, Build] | None:
        ahead = self._tokens[self._index : self._index + 3]
        for kinds, name in _SHIFTS:
            symbol = ahead[: len(kinds)]
            touching = all(a.end + 1 == b.start for a, b in pairwise(symbol))
            if touching and tuple(token.token_type for token in symbol) == kinds:
                return _SHIFT_RANK, len(kinds), partial(call, name)
        return None

    def _parse_unary(self) -> exp.Expr | None:
        if self._match_set(self.UNARY_PARSERS):
            signed: exp.Expr = self.UNARY_PARSERS[self._prev.token_type](self)
            return self.expression(signed)
        this = self._parse_type()
        while this is not None and self._match(TokenType.COLLATE):
            collation = self._parse_id_var() or self.raise_error("Expecting a collation")
            this = call("COLLATE", this, exp.Literal.string(collation.name))
        return this

    def _parse_operand(self) -> exp.Expr:
        return self._parse_unary() or self.raise_error("Expecting an operand")

    def _parse_negative(self) -> exp.Expr:
        # Spark reads `-128Y` and `-1::INT` as the cast of a negative literal: without this the
        # smallest number of each type would overflow before it is negated.
        literal = self._curr and self._curr.token_type == TokenType.NUMBER
        folded = literal and self._next and self._next.token_type == TokenType.DCOLON
        operand = self._parse_operand()
        if folded:
            inner = operand
            while isinstance(inner.this, exp.Cast):
                inner = inner.this
            if isinstance(inner, exp.Cast) and inner.this.is_number:
                inner.set("this", exp.Neg(this=inner.this))
                return operand
        return exp.Neg(this=operand)
