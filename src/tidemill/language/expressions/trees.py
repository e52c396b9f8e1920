"""Text or tokens to a checked, canonical syntax tree; nothing but `TidemillError` escapes.

What was opened is closed before anything is read, and syntax that is no part of the language
is refused at its place.

>>> to_sql(parse_tree("`Src` || upper(x) == 'a''b'"))
"Src || UPPER(x) = 'a\\\\'b'"
>>> from tidemill.errors import TidemillError
>>> try:
...     tokenize("SELECT 'abc")
... except TidemillError as error:
...     print(error.render())
error[E_SYNTAX]: this ' is never closed
  line 1, column 8
    SELECT 'abc
           ^
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NoReturn, TypeVar

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from tidemill.errors import Place, TidemillError, listing, refuse
from tidemill.language.expressions.dialect import TidemillDialect, TidemillParser
from tidemill.language.expressions.precedence import PlacedParseError
from tidemill.language.names import needs_quotes
from tidemill.language.not_built import refuse_not_built
from tidemill.types import TYPE_NAMES

_DIALECT = TidemillDialect()
_Result = TypeVar("_Result")
# Functions whose first argument, when there are three, is a bare unit and not a column.
_TAKES_UNIT = frozenset(
    ("DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF", "TIMEDIFF", "TIMESTAMPADD", "TIMESTAMPDIFF")
)
# Raw strings know no escapes; the others may hide their quote behind a backslash.
_LEXEME = re.compile(
    r"""--[^\n\r]*|(?<!\w)[rR]'[^']*'|(?<!\w)[rR]"[^"]*"|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`
    |(?P<comment>/\*)|(?P<opener>['"`])""",
    re.S | re.X,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_PAIRS = {TokenType.R_PAREN: TokenType.L_PAREN, TokenType.R_BRACKET: TokenType.L_BRACKET}
_PlaceOf = Callable[[exp.Expr], Place]

_NODES = frozenset(
    (
        *(exp.Column, exp.Identifier, exp.Literal, exp.HexString, exp.Null, exp.Boolean, exp.Var),
        *(exp.Anonymous, exp.Distinct, exp.Filter, exp.Where, exp.WithinGroup, exp.Order),
        *(exp.Ordered, exp.IgnoreNulls, exp.RespectNulls, exp.Lambda, exp.Kwarg, exp.Alias),
        *(exp.Paren, exp.Tuple, exp.Neg, exp.BitwiseNot, exp.Not, exp.And, exp.Or),
        *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        *(exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape),
        *(exp.Any, exp.All, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe),
        *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.Cast, exp.TryCast, exp.Case, exp.If),
        *(exp.Bracket, exp.Dot, exp.Extract, exp.Interval, exp.IntervalSpan),
        *(exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.Star),
    )
)
_TYPES = frozenset(
    (
        *(exp.DType.BOOLEAN, exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT),
        *(exp.DType.BIGINT, exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL),
        *(exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.BINARY, exp.DType.DATE),
        *(exp.DType.TIME, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ),
        *(exp.DType.TIMESTAMPNTZ, exp.DType.INTERVAL, exp.DType.VARIANT, exp.DType.NULL),
        *(exp.DType.ARRAY, exp.DType.MAP, exp.DType.STRUCT),
    )
)


def tokenize(text: str) -> list[Token]:
    """The tokens of a script, without its comments; refuses what is never closed."""
    _check_closed(text)
    tokens = _guard(text, Place(0, len(text)), lambda: _DIALECT.tokenize(text))
    for token in tokens:
        token.comments = []
    return tokens


def read_tree(tokens: Sequence[Token], text: str) -> tuple[exp.Expr, int]:
    """The expression at the start of the tokens, and how many of them it takes."""
    parser = TidemillParser(error_level=ErrorLevel.IMMEDIATE, dialect=_DIALECT)
    here = Place(tokens[0].start, tokens[-1].end + 1) if tokens else Place(len(text), len(text))
    tree, count = _guard(text, here, lambda: parser.parse_prefix(tokens, text))
    place = Place(tokens[0].start, tokens[count - 1].end + 1)
    return _guard(text, place, lambda: _canonical(tree, text, place)), count


def read_data_type(tokens: Sequence[Token], text: str) -> str:
    """The canonical text of the data type that the tokens spell."""
    parser = TidemillParser(error_level=ErrorLevel.IMMEDIATE, dialect=_DIALECT)
    here = Place(tokens[0].start, tokens[-1].end + 1)
    tree = _guard(text, here, lambda: parser.parse_data_type(tokens, text))
    return to_sql(_guard(text, here, lambda: _canonical(tree, text, here)))


@lru_cache(maxsize=4096)
def parse_tree(text: str) -> exp.Expr:
    """The tree of a text that is one expression; shared, so copy it before changing it."""
    tokens = tokenize(text)
    tree, count = read_tree(tokens, text)
    if count < len(tokens):
        place = Place(tokens[count].start, tokens[count].end + 1)
        refuse("E_SYNTAX", "expected the end of the expression", text=text, place=place)
    return tree


@lru_cache(maxsize=4096)
def read_alone(text: str) -> tuple[exp.Expr, str] | None:
    """The tree of a text and its canonical text, worked out once; None if it is no expression.

    The tree is shared, as that of `parse_tree`.
    """
    try:
        tree = parse_tree(text)
    except TidemillError:
        return None
    return tree, to_sql(tree)


def to_sql(tree: exp.Expr) -> str:
    """The canonical text of a tree, on one line."""
    return _guard("", None, lambda: _write(tree))


def place_of_tree(tree: exp.Expr) -> Place | None:
    """The span of everything below the node that remembers where it stood."""
    spans = [node.meta for node in tree.walk() if "start" in node.meta]
    if not spans:
        return None
    return Place(min(span["start"] for span in spans), max(span["end"] for span in spans) + 1)


def _write(tree: exp.Expr) -> str:
    return _DIALECT.generate(tree, unsupported_level=ErrorLevel.IGNORE, comments=False)


def _guard(text: str, place: Place | None, work: Callable[[], _Result]) -> _Result:
    """The result of `work`, with sqlglot's ways to fail turned into one refusal."""
    try:
        return work()
    except PlacedParseError as error:
        place, primary = error.place or place, _reword(str(error))
    except SqlglotError:
        primary = "cannot read this text"
    except RecursionError:
        primary = "this expression is nested too deeply"
    refuse("E_SYNTAX", primary, text=text, place=place)


def _reword(message: str) -> str:
    if message.startswith("Expecting "):
        return "expected " + message.removeprefix("Expecting ")
    if message.startswith("Required "):
        return "expected an operand"
    return "cannot read this expression"


def _canonical(tree: exp.Expr, text: str, place: Place) -> exp.Expr:
    holder = exp.Paren(this=tree)
    for node in list(holder.walk()):
        rule = _RULES.get(type(node))
        if rule is not None:
            rule(node)
    canonical: exp.Expr = holder.this.pop()
    _check_tree(canonical, text, lambda node: place_of_tree(node) or place)
    return canonical


def _quote_where_needed(node: exp.Expr) -> None:
    node.set("quoted", needs_quotes(node.name))


def _plain_function(node: exp.Expr) -> None:
    """Function names are upper case and bare, and a unit of time is a word, not a column."""
    if not needs_quotes(node.name) or not isinstance(node.this, exp.Identifier):
        node.set("this", node.name.upper())
    arguments = node.expressions
    if node.name in _TAKES_UNIT and len(arguments) == 3 and isinstance(arguments[0], exp.Column):
        arguments[0].replace(exp.var(arguments[0].name.upper()))


def _join_strings(node: exp.Expr) -> None:
    node.replace(exp.Literal.string("".join(part.name for part in node.expressions)))


def _plain_string(node: exp.Expr) -> None:
    node.replace(exp.Literal.string(node.name))


def _behind_the_call(node: exp.Expr) -> None:
    """FIRST(x IGNORE NULLS) is FIRST(x) IGNORE NULLS."""
    call = node.parent
    if isinstance(call, exp.Anonymous) and call.expressions[0] is node:
        node.replace(node.this)
        call.replace(type(node)(this=call.copy()))


_RULES: dict[type[exp.Expr], Callable[[exp.Expr], None]] = {
    exp.Identifier: _quote_where_needed,
    exp.Anonymous: _plain_function,
    exp.Concat: _join_strings,
    exp.RawString: _plain_string,
    exp.IgnoreNulls: _behind_the_call,
    exp.RespectNulls: _behind_the_call,
}


def _check_closed(text: str) -> None:
    """Refuses a quote or a block comment that runs to the end of the text."""
    position = 0
    while match := _LEXEME.search(text, position):
        position = match.end()
        if match["opener"]:
            _refuse_opener(match["opener"], text, match.start())
        if match["comment"]:
            position = _comment_end(text, match.start())


def check_balanced(tokens: Sequence[Token], text: str) -> None:
    """Refuses a bracket without its partner among the tokens of one statement."""
    opened: list[Token] = []
    for token in tokens:
        if token.token_type in _PAIRS.values():
            opened.append(token)
        elif token.token_type in _PAIRS and not _closes(opened, token):
            place = Place(token.start, token.end + 1)
            refuse("E_SYNTAX", f"this {token.text} closes nothing", text=text, place=place)
    if opened:
        _refuse_opener(opened[-1].text, text, opened[-1].start)


def _closes(opened: list[Token], token: Token) -> bool:
    return bool(opened) and opened.pop().token_type == _PAIRS[token.token_type]


def _comment_end(text: str, start: int) -> int:
    depth, position = 0, start
    while match := _COMMENT_EDGE.search(text, position):
        depth += 1 if match[0] == "/*" else -1
        position = match.end()
        if depth == 0:
            return position
    _refuse_opener("/*", text, start)


def _refuse_opener(opener: str, text: str, start: int) -> NoReturn:
    place = Place(start, start + len(opener))
    refuse("E_SYNTAX", f"this {opener} is never closed", text=text, place=place)


def _check_tree(tree: exp.Expr, text: str, place_of: _PlaceOf) -> None:
    """Refuses the first node that is no part of the language."""
    if query := tree.find(exp.Query, exp.Exists):
        refuse_not_built("a subquery", text, place_of(query))
    for node in tree.walk():
        if isinstance(node, exp.Window):
            refuse_not_built("OVER", text, place_of(node))
        if type(node) is exp.DataType:
            _check_type(node, text, place_of(tree))
        if type(node) not in _NODES or not _fits(node):
            refuse("E_SYNTAX", "cannot read this expression", text=text, place=place_of(node))


def _fits(node: exp.Expr) -> bool:
    """True if an allowed node stands where it may, without the extras of other dialects."""
    if isinstance(node, exp.Star):
        return isinstance(node.parent, (exp.Anonymous, type(None))) and not any(node.args.values())
    if isinstance(node, exp.In):
        return bool(node.expressions)
    if isinstance(node, exp.Bracket):
        return len(node.expressions) == 1
    if isinstance(node, exp.Identifier):
        return bool(node.name)
    if isinstance(node, exp.Between):
        return node.args.get("symmetric") is None
    return True


def _check_type(node: exp.Expr, text: str, place: Place) -> None:
    inside = isinstance(node.parent, (exp.Cast, exp.DataType, exp.ColumnDef, type(None)))
    if not inside or (node.this not in _TYPES and not isinstance(node.this, exp.Interval)):
        hint = listing("types", TYPE_NAMES)
        refuse("E_UNKNOWN_TYPE", "no such data type", hint=hint, text=text, place=place)
