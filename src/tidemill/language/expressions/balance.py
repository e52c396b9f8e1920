"""What was opened and never closed: quotes, comments and brackets, refused at the opener.

>>> from tidemill.errors import TidemillError
>>> try:
...     check_closed("SELECT 'abc")
... except TidemillError as error:
...     print(error.render())
error[E_SYNTAX]: this ' is never closed
  line 1, column 8
    SELECT 'abc
           ^
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from tidemill.errors import Place, refuse

# Raw strings know no escapes; the others may hide their quote behind a backslash.
_LEXEME = re.compile(
    r"""--[^\n\r]*|(?<!\w)[rR]'[^']*'|(?<!\w)[rR]"[^"]*"|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`
    |(?P<comment>/\*)|(?P<opener>['"`])""",
    re.S | re.X,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_PAIRS = {TokenType.R_PAREN: TokenType.L_PAREN, TokenType.R_BRACKET: TokenType.L_BRACKET}


def check_closed(text: str) -> None:
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
