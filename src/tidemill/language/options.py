"""`WITH (key = value, …)` and the values of settings, all kept as text."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from tidemill.errors import refuse
from tidemill.language.cursor import Cursor
from tidemill.language.statements import Options

_HINT = "write WITH (name = 'value', …)"


def parse_options(cursor: Cursor) -> Options:
    """The parenthesis after WITH; bare names are lower case, quoted ones are kept."""
    if not cursor.take("("):
        cursor.fail("( after WITH", code="E_OPTION", hint=_HINT)
    options: dict[str, str] = {}
    for _ in cursor.separated(lambda: _parse_option(cursor, options)):
        pass
    if not cursor.take(")"):
        cursor.fail("',' or ')'", code="E_OPTION", hint=_HINT)
    return tuple(options.items())


def _parse_option(cursor: Cursor, options: dict[str, str]) -> None:
    place = cursor.here
    key = _parse_key(cursor)
    if key in options:
        primary = f"the option {key} is given twice"
        refuse("E_OPTION", primary, text=cursor.text, place=place)
    if not cursor.take("="):
        cursor.fail(f"= after {key}", code="E_OPTION", hint=_HINT)
    options[key] = parse_value(cursor, "E_OPTION")


def _parse_key(cursor: Cursor) -> str:
    if not cursor.at_end and cursor.word() == "":
        key = cursor.tokens[cursor.index].text
        cursor.index += 1
        return key
    parts = [_parse_key_part(cursor)]
    while cursor.take("."):
        parts.append(_parse_key_part(cursor))
    return ".".join(parts)


def _parse_key_part(cursor: Cursor) -> str:
    if not cursor.name_ahead():
        cursor.fail("the name of an option", code="E_OPTION", hint=_HINT)
    return cursor.name("the name of an option").lower()


def parse_value(cursor: Cursor, code: str) -> str:
    """A quoted text, a number or one bare word, as text."""
    if cursor.at_end:
        cursor.fail("a value", code=code)
    if cursor.word() == "":
        cursor.index += 1
        return cursor.tokens[cursor.index - 1].text
    sign = "-" if cursor.take("-") else ""
    if cursor.at_end or not (_is_number(cursor) or (not sign and _is_bare(cursor))):
        cursor.fail("a value", code=code, hint="put it in quotes")
    cursor.index += 1
    return sign + cursor.tokens[cursor.index - 1].text


def _is_number(cursor: Cursor) -> bool:
    # A suffix, as in 10s, makes three tokens of one place: that wants quotes.
    token = cursor.tokens[cursor.index]
    return token.token_type == TokenType.NUMBER and token.end + 1 - token.start == len(token.text)


def _is_bare(cursor: Cursor) -> bool:
    return cursor.name_ahead() or cursor.word() in ("TRUE", "FALSE", "ALL", "ON")
