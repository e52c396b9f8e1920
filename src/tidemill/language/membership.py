"""WHERE with EXISTS and IN: conditions on a row, and windows in which it is looked for.

The conditions are joined by AND; each is read alone, and those on rows are put together again.

>>> from tidemill.language.expressions.trees import tokenize
>>> text = "WHERE x > 1 AND NOT EXISTS (SELECT 1 FROM b [RANGE 5 SECONDS] WHERE b.k = a.k)"
>>> where, (search,) = parse_where(Cursor(tokenize(text), text))
>>> str(where), search.negated, search.stream
('x > 1', True, 'b')
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from tidemill.errors import Place, refuse
from tidemill.language.cursor import Cursor
from tidemill.language.expressions.trees import read_tree, to_sql
from tidemill.language.not_built import refuse_not_built
from tidemill.language.relations import parse_from
from tidemill.language.statements import Expr, Subquery

_DEEPER = ("(", "[", "CASE")
_HIGHER = (")", "]", "END")
_ENDS = ("GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "INTERSECT", "EXCEPT")
_LATER = (*_ENDS, "EMIT")


def parse_where(cursor: Cursor) -> tuple[Expr | None, tuple[Subquery, ...]]:
    """The condition on rows, if there is one, and what is looked for in other windows."""
    if not cursor.take("WHERE"):
        return None, ()
    if not _has_subquery(cursor):
        return cursor.expression(), ()
    plain, subqueries = list[Token](), list[Subquery]()
    while True:
        subquery = _parse_exists(cursor) or _parse_in(cursor)
        if subquery is not None:
            subqueries.append(subquery)
            if cursor.at("OR"):
                refuse_not_built("a subquery", cursor.text, subquery.place)
        else:
            plain += _plain_tokens(cursor)
        joining = cursor.index
        if not cursor.take("AND"):
            break
        if subquery is None:
            plain.append(cursor.tokens[joining])
    return _joined(plain, cursor.text), tuple(subqueries)


def _has_subquery(cursor: Cursor) -> bool:
    """True if a SELECT begins before the clause ends."""
    return any(cursor.word(index - cursor.index) == "SELECT" for index in _clause(cursor, _ENDS))


def _clause(cursor: Cursor, ends: tuple[str, ...]) -> Iterator[int]:
    """The places of the tokens up to one of the words, or a bracket that was opened before."""
    return (index for index, _ in _clause_by_depth(cursor, ends))


def _clause_by_depth(cursor: Cursor, ends: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    depth = betweens = 0
    for index in range(cursor.index, len(cursor.tokens)):
        word = cursor.word(index - cursor.index)
        depth -= word in _HIGHER
        if depth < 0 or (depth == 0 and word in ends and not (word == "AND" and betweens)):
            return
        depth += word in _DEEPER
        if depth == 0:
            betweens += (word == "BETWEEN") - (word == "AND")
        yield index, depth


def _parse_exists(cursor: Cursor) -> Subquery | None:
    start = cursor.index
    negated = cursor.at("NOT")
    if not (cursor.at("NOT", "EXISTS", "(") if negated else cursor.at("EXISTS", "(")):
        return None
    cursor.index += 2 if negated else 1
    return _parse_subquery(cursor, start, negated, None)


def _parse_in(cursor: Cursor) -> Subquery | None:
    """`subject [NOT] IN (SELECT …)`."""
    start = cursor.index
    for index, depth in _clause_by_depth(cursor, ("AND", *_ENDS)):
        ahead = index - start
        if depth == 0 and cursor.word(ahead) == "IN" and cursor.word(ahead + 2) == "SELECT":
            negated = cursor.word(ahead - 1) == "NOT"
            end = index - negated
            subject = _read(cursor.tokens[start:end], cursor.text)
            cursor.index = index + 1
            return _parse_subquery(cursor, start, negated, subject)
    return None


def _parse_subquery(cursor: Cursor, start: int, negated: bool, subject: Expr | None) -> Subquery:
    cursor.expect("(")
    cursor.expect("SELECT")
    cursor.take_any(("DISTINCT", "ALL"))  # it makes no difference which row is there
    item = None
    if subject is None:
        _skip_items(cursor)
    else:
        item = cursor.expression()
    cursor.expect("FROM", hint="a subquery selects one expression")
    stream, stream_place, window, alias = parse_from(cursor)
    if not cursor.at("WHERE") and not cursor.at(")"):
        _refuse_rest(cursor)
    where, deeper = parse_where(cursor)
    if deeper:
        refuse_not_built("a subquery in a subquery", cursor.text, deeper[0].place)
    if not cursor.at(")"):
        _refuse_rest(cursor)
    cursor.expect(")")
    place = cursor.since(start)
    return Subquery(
        negated, stream, alias, window, where, subject, item, place=place, stream_place=stream_place
    )


def _skip_items(cursor: Cursor) -> None:
    """What EXISTS selects means nothing."""
    cursor.separated(lambda: cursor.take("*") or cursor.expression())


def _refuse_rest(cursor: Cursor) -> None:
    """Refuses the clauses that a subquery does not have."""
    if cursor.word() in _LATER or cursor.at(",") or cursor.word().endswith("JOIN"):
        refuse_not_built("more than WHERE in a subquery", cursor.text, cursor.here)
    if cursor.word() in ("INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI"):
        refuse_not_built("more than WHERE in a subquery", cursor.text, cursor.here)


def _plain_tokens(cursor: Cursor) -> list[Token]:
    """The tokens of a condition on rows, up to the AND behind it or the end of the clause."""
    start = cursor.index
    indices = list(_clause(cursor, ("AND", *_ENDS)))
    for index in indices:
        if cursor.word(index - start) == "SELECT":
            place = Place(cursor.tokens[index].start, cursor.tokens[index].end + 1)
            refuse_not_built("a subquery", cursor.text, place)
    if not indices:
        cursor.fail("a condition")
    tokens = list(cursor.tokens[start : indices[-1] + 1])
    _, count = read_tree(tokens, cursor.text)
    cursor.index = start + count
    return tokens[:count]


def _joined(tokens: list[Token], text: str) -> Expr | None:
    """The conditions on rows as one, in their places."""
    if tokens and tokens[-1].token_type == TokenType.AND:
        tokens.pop()
    return _read(tokens, text) if tokens else None


def _read(tokens: Sequence[Token], text: str) -> Expr:
    """The one expression that the tokens are."""
    tree, count = read_tree(tokens, text)
    if count < len(tokens):
        place = Place(tokens[count].start, tokens[count].end + 1)
        refuse("E_SYNTAX", "expected the end of the expression", text=text, place=place)
    return Expr(to_sql(tree), Place(tokens[0].start, tokens[-1].end + 1), tree)
