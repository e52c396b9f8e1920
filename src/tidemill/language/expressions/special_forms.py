"""Calls and literals with words inside: INTERVAL, TRIM, SUBSTRING, POSITION, OVERLAY.

All but INTERVAL come out as plain calls of the function that Spark gives the same meaning.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from tidemill.language.expressions.precedence import LadderParser, call

_TIME_UNITS = (
    "YEAR",
    "MONTH",
    "WEEK",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
)
_SINGULAR = {form: unit for unit in _TIME_UNITS for form in (unit, unit + "S")}
_TRIMS = {"BOTH": "TRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}


class WordedParser(LadderParser):
    """Special forms; any other call is read by sqlglot and stays as it was written."""

    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "CAST": lambda self: self._parse_cast(True),
        "TRY_CAST": lambda self: self._parse_cast(False, safe=True),
        "EXTRACT": lambda self: self._parse_extract(),
        "TRIM": lambda self: self._parse_trim_call(),
        "SUBSTRING": lambda self: self._parse_worded_call("FROM", "FOR"),
        "SUBSTR": lambda self: self._parse_worded_call("FROM", "FOR"),
        "POSITION": lambda self: self._parse_worded_call("IN"),
        "OVERLAY": lambda self: self._parse_worded_call("PLACING", "FROM", "FOR"),
    }

    def _parse_interval(
        self,
        require_interval: bool = True,
        parse_function_unit: bool = True,
    ) -> exp.Interval | None:
        index = self._index
        if not self._match(TokenType.INTERVAL):
            return None
        parts: list[tuple[str, exp.Expr | None]] = []
        while (value := self._parse_interval_value()) is not None:
            parts.append((value, self._parse_interval_unit()))
        if not parts:  # a column that is called interval
            self._retreat(index)
            return None
        return self._build_interval(parts)

    def _parse_interval_value(self) -> str | None:
        index = self._index
        sign = self._prev.text if self._match_set((TokenType.DASH, TokenType.PLUS)) else ""
        if self._match_set((TokenType.NUMBER, TokenType.STRING)):
            return sign.replace("+", "") + self._prev.text
        self._retreat(index)
        return None

    def _parse_interval_unit(self) -> exp.Expr | None:
        if not self._match_texts(_SINGULAR):
            return None
        unit = exp.var(_SINGULAR[self._prev.text.upper()])
        if not self._match_text_seq("TO"):
            return unit
        if not self._match_texts(_SINGULAR):
            self.raise_error("Expecting a unit of time")
        return exp.IntervalSpan(this=unit, expression=exp.var(_SINGULAR[self._prev.text.upper()]))

    def _build_interval(self, parts: list[tuple[str, exp.Expr | None]]) -> exp.Interval:
        if len(parts) == 1:
            value, unit = parts[0]
            return exp.Interval(this=exp.Literal.string(value), unit=unit)
        if not all(isinstance(unit, exp.Var) for _, unit in parts):
            self.raise_error("Expecting a unit of time")
        # One literal of several units, not a sum: `t - INTERVAL 1 DAY 2 HOURS` takes both away.
        joined = " ".join(f"{value} {unit.name}" for value, unit in parts if unit)
        return exp.Interval(this=exp.Literal.string(joined))

    def _parse_worded_call(self, *separators: str) -> exp.Expr:
        """A call whose arguments may be parted by words: SUBSTRING(x FROM 1 FOR 2)."""
        name = self._tokens[self._index - 2]
        arguments = [self._parse_argument()]
        while self._match(TokenType.COMMA) or self._match_texts(separators):
            arguments.append(self._parse_argument())
        return call(name.text, *arguments).update_positions(name)

    def _parse_argument(self) -> exp.Expr:
        return self._parse_operators(0) or self.raise_error("Expecting an expression")

    def _parse_trim_call(self) -> exp.Expr:
        name = self._tokens[self._index - 2]
        side = self._prev.text.upper() if self._match_texts(_TRIMS) else "BOTH"
        at_from = self._match(TokenType.FROM, advance=False)
        arguments = [] if at_from else [self._parse_argument()]
        if self._match(TokenType.FROM):
            return self._trim(side, arguments, self._parse_argument()).update_positions(name)
        while self._match(TokenType.COMMA):
            arguments.append(self._parse_argument())
        return call(name.text, *arguments).update_positions(name)

    def _trim(self, side: str, characters: list[exp.Expr], subject: exp.Expr) -> exp.Expr:
        # BTRIM takes the characters last; LTRIM and RTRIM, unlike it, take them first.
        if side == "BOTH" and characters:
            return call("BTRIM", subject, *characters)
        return call(_TRIMS[side], *characters, subject)
