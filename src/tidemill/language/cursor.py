"""A position in the tokens of one statement: look, take, expect, and refuse at the place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from sqlglot.tokenizer_core import Token, TokenType

from tidemill.errors import Place, refuse
from tidemill.language.expressions.trees import read_alone, read_tree, to_sql
from tidemill.language.names import is_reserved
from tidemill.language.not_built import refuse_not_built
from tidemill.language.statements import Expr

_Item = TypeVar("_Item")
_QUOTED = frozenset((TokenType.IDENTIFIER, TokenType.STRING, TokenType.RAW_STRING))
# What ends an expression that stands in no brackets; `IS DISTINCT FROM` alone goes on after one.
_ENDS = frozenset(
    (
        *(TokenType.COMMA, TokenType.ALIAS, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY),
        *(TokenType.HAVING, TokenType.ORDER_BY, TokenType.ASC, TokenType.DESC, TokenType.LIMIT),
    )
)
_DEPTHS = {
    **dict.fromkeys((TokenType.L_PAREN, TokenType.L_BRACKET), 1),
    **dict.fromkeys((TokenType.R_PAREN, TokenType.R_BRACKET), -1),
}
_STRINGS = frozenset((TokenType.STRING, TokenType.RAW_STRING))


class Cursor:
    """Reads the tokens of one statement from the left; `text` is the whole script."""

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self.tokens = tokens
        self.text = text
        self.index = 0

    @property
    def at_end(self) -> bool:
        return self.index >= len(self.tokens)

    @property
    def here(self) -> Place:
        """The token ahead; the end of the statement when there is none."""
        if not self.at_end:
            return _span(self.tokens[self.index])
        end = self.tokens[-1].end + 1
        return Place(end, end)

    def since(self, index: int) -> Place:
        """From the token of that index up to the last one taken."""
        last = max(index, self.index - 1)
        return Place(self.tokens[index].start, self.tokens[last].end + 1)

    def word(self, ahead: int = 0) -> str:
        """The bare word or symbol ahead in upper case; empty for quoted text and at the end."""
        index = self.index + ahead
        if index >= len(self.tokens) or self.tokens[index].token_type in _QUOTED:
            return ""
        return " ".join(self.tokens[index].text.upper().split())

    def at(self, *words: str) -> bool:
        """True if exactly these words come next."""
        return all(self.word(ahead) == word for ahead, word in enumerate(words))

    def has_ahead(self, word: str) -> bool:
        """True if the word comes, be it much later."""
        return any(self.word(ahead) == word for ahead in range(len(self.tokens) - self.index))

    def take(self, *words: str) -> bool:
        """Takes these words if they come next."""
        found = self.at(*words)
        self.index += len(words) if found else 0
        return found

    def take_any(self, words: Sequence[str]) -> str:
        """Takes one of the words; empty when none comes next."""
        return next((word for word in words if self.take(word)), "")

    def expect(self, *words: str, hint: str = "") -> None:
        if not self.take(*words):
            self.fail(" ".join(words), hint=hint)

    def expect_any(self, words: Sequence[str]) -> str:
        return self.take_any(words) or self.fail(" or ".join(words))

    def fail(self, expected: str, *, code: str = "E_SYNTAX", hint: str = "") -> NoReturn:
        """Refuses what comes next, saying what should have come."""
        found = "the end of the statement" if self.at_end else f"'{self._raw()}'"
        primary = f"expected {expected}, found {found}"
        refuse(code, primary, hint=hint, text=self.text, place=self.here)

    def name_ahead(self) -> bool:
        """True if the next token can stand for a name."""
        if self.at_end:
            return False
        token = self.tokens[self.index]
        if token.token_type == TokenType.IDENTIFIER:
            return bool(token.text)
        word = self.word()
        bare = word.replace("_", "").isalnum() and not word.isdigit()
        return bare and not is_reserved(word) and token.token_type != TokenType.NUMBER

    def name(self, what: str) -> str:
        """The name that comes next, in the user's spelling."""
        if not self.name_ahead():
            reserved = not self.at_end and is_reserved(self.word())
            self.fail(what, hint="put a reserved word in backticks" if reserved else "")
        self.index += 1
        return self.tokens[self.index - 1].text

    def string(self, what: str) -> str:
        """The value of the string literal that comes next."""
        if self.at_end or self.tokens[self.index].token_type not in _STRINGS:
            self.fail(what)
        self.index += 1
        return self.tokens[self.index - 1].text

    def expression(self) -> Expr:
        """The expression that comes next."""
        if self.at_end:
            self.fail("an expression")
        start = self.index
        self.index = self._expected_end()
        place = self.since(start)
        if alone := read_alone(self.text[place.start : place.end]):
            tree, sql = alone
            return Expr(sql, place, tree, place.start)
        self._refuse_subquery(start)
        self.index = start
        tree, count = read_tree(self.tokens[start:], self.text)
        self.index += count
        return Expr(to_sql(tree), self.since(start), tree)

    def _refuse_subquery(self, start: int) -> None:
        """Refuses a SELECT in the expression: what its window is made of is no expression."""
        for token in self.tokens[start : self.index]:
            if token.token_type == TokenType.SELECT:
                refuse_not_built("a subquery", self.text, _span(token))

    def _expected_end(self) -> int:
        """The index after the expression ahead, if nothing but a clause or a comma follows it.

        Of many queries, most expressions have been read before, and need not be read again.
        """
        depth = 0
        for index in range(self.index, len(self.tokens)):
            kind = self.tokens[index].token_type
            if depth == 0 and kind in _ENDS and index > self.index:
                return index
            depth += _DEPTHS.get(kind, 0)
            if depth < 0:
                return index
        return len(self.tokens)

    def separated(self, read: Callable[[], _Item]) -> tuple[_Item, ...]:
        """One or more items with commas between."""
        items = [read()]
        while self.take(","):
            items.append(read())
        return tuple(items)

    def until(self, stops: Sequence[str]) -> str:
        """The text up to one of the words, as it was written."""
        start = self.index
        while not self.at_end and self.word() not in stops:
            self.index += 1
        place = self.since(start)
        return self.text[place.start : place.end] if self.index > start else ""

    def _raw(self) -> str:
        return self.text[self.here.start : self.here.end]


def _span(token: Token) -> Place:
    return Place(token.start, token.end + 1)
