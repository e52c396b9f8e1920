"""Spark's expression grammar on sqlglot's machinery, with every function left as it was written.

sqlglot knows several hundred functions and rewrites many of them on the way through. Here a call
stays `exp.Anonymous`, so that Spark receives the user's own function; only special syntax becomes
special nodes, and operators follow the ladder of Spark's grammar.

>>> TidemillDialect().parse("SELECT nvl(a, 1) <=> b")[0].expressions[0].sql(TidemillDialect)
'NVL(a, 1) <=> b'
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.tokenizer_core import TokenType

from tidemill.language.expressions.special_forms import WordedParser

_SYMBOLS = frozenset(("==", "::", "||", ">=", "<=", "<>", "!=", "<=>", "->", "=>"))
_WORD_PAIRS = frozenset(("GROUP BY", "ORDER BY", "PARTITION BY"))
_BARE_CALLS = (*WordedParser.NO_PAREN_FUNCTIONS, TokenType.LOCALTIMESTAMP)


class TidemillParser(WordedParser):
    """Reads one expression; statements are read by `tidemill.language.parser`."""

    STRICT_CAST = True
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    # Otherwise `array(a)[0]` would be read as the constructor `ARRAY[0]` of other dialects.
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": lambda self: self._parse_case()}
    NO_PAREN_FUNCTIONS: ClassVar[dict[TokenType, Any]] = {
        kind: partial(exp.Anonymous, this=kind.name) for kind in _BARE_CALLS
    }

    def _parse_select(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """Only SELECT begins a subquery: `(describe)` is a column in parentheses."""
        if not self._match(TokenType.SELECT, advance=False):
            return None
        return super()._parse_select(*args, **kwargs)


class TidemillGenerator(SparkGenerator):
    """Writes canonical text, which is also valid Spark SQL."""

    TRANSFORMS: ClassVar[dict[Any, Any]] = {
        **SparkGenerator.TRANSFORMS,
        exp.NullSafeEQ: lambda self, node: self.binary(node, "<=>"),
    }
    TYPE_MAPPING: ClassVar[dict[Any, Any]] = {**SparkGenerator.TYPE_MAPPING, exp.DType.TIME: "TIME"}


class TidemillDialect(Spark):
    """Spark SQL's expressions, unchanged by the trip through the parser."""

    class Tokenizer(Spark.Tokenizer):
        # sqlglot swallows the rest of the text after a command word such as SHOW or EXPLAIN.
        COMMANDS: ClassVar[set[TokenType]] = set()
        COMMENTS: ClassVar[list[Any]] = ["--", ("/*", "*/")]
        TOKENS_PRECEDING_HINT: ClassVar[set[TokenType]] = set()
        # Spark 4: a doubled quote inside a string is one quote.
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind
            for word, kind in Spark.Tokenizer.KEYWORDS.items()
            if kind != TokenType.COMMAND
            and (word in _SYMBOLS or word in _WORD_PAIRS or word.replace("_", "").isalnum())
        }

    Parser = TidemillParser
    Generator = TidemillGenerator
