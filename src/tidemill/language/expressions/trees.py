"""Text or tokens to a checked, canonical syntax tree; nothing but `TidemillError` escapes.

>>> to_sql(parse_tree("`Src` || upper(x) == 'a''b'"))
"Src || UPPER(x) = 'a\\\\'b'"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokenizer_core import Token

from tidemill.errors import Place, refuse
from tidemill.language.expressions.allowed import check_tree
from tidemill.language.expressions.balance import check_closed
from tidemill.language.expressions.dialect import TidemillDialect, TidemillParser
from tidemill.language.expressions.precedence import PlacedParseError
from tidemill.language.names import needs_quotes

_DIALECT = TidemillDialect()
_Result = TypeVar("_Result")
# Functions whose first argument, when there are three, is a bare unit and not a column.
_TAKES_UNIT = frozenset(
    ("DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF", "TIMEDIFF", "TIMESTAMPADD", "TIMESTAMPDIFF")
)


def tokenize(text: str) -> list[Token]:
    """The tokens of a script, without its comments; refuses what is never closed."""
    check_closed(text)
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
    """What `work` returns, with sqlglot's ways to fail turned into one refusal."""
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
    check_tree(canonical, text, lambda node: place_of_tree(node) or place)
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


_RULES: dict[type[exp.Expr], Callable[[exp.Expr], None]] = {
    exp.Identifier: _quote_where_needed,
    exp.Anonymous: _plain_function,
    exp.Concat: _join_strings,
    exp.RawString: _plain_string,
}
