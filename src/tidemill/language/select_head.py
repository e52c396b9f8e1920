"""The head of a SELECT: what stands between SELECT and FROM.

>>> from tidemill.language.expressions.trees import tokenize
>>> text = "SELECT ISTREAM(DISTINCT src, COUNT(*)) FROM s"
>>> head = parse_head(Cursor(tokenize(text), text), lambda c: c.expression().sql)
>>> head.items, head.delta.value, head.distinct
(('src', 'COUNT(*)'), 'ISTREAM', True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

from tidemill.errors import Place, refuse
from tidemill.language.cursor import Cursor
from tidemill.language.names import STREAM_WORDS
from tidemill.language.not_built import refuse_not_built
from tidemill.language.statements import Delta, Select

_Item = TypeVar("_Item")
_WORDS = {"RSTREAM": Delta.NONE, "ISTREAM": Delta.NEW, "DSTREAM": Delta.GONE}
_AROUND = "it stands around the whole select list: SELECT ISTREAM(a, b) FROM …"
_STRICT = "FROM stream [RANGE r SLIDE s]"


@dataclass(frozen=True)
class SelectHead(Generic[_Item]):
    """The items of a select list, and the words around them."""

    items: tuple[_Item, ...]
    delta: Delta = Delta.NONE
    distinct: bool = False
    delta_place: Place | None = None  # of the word, if one was written
    distinct_place: Place | None = None


def parse_head(cursor: Cursor, parse: Callable[[Cursor], _Item]) -> SelectHead[_Item]:
    """The head that comes next."""
    cursor.expect("SELECT")
    if not at_stream_word(cursor):
        return _parse_list(cursor, parse)
    place, word = cursor.here, cursor.word()
    _refuse_words_not_built(cursor)
    cursor.index += 1
    cursor.expect("(")
    head = _parse_list(cursor, parse)
    cursor.expect(")", hint=_AROUND)
    if not (cursor.at_end or cursor.at("FROM")):
        _refuse_part(cursor, word, cursor.here)
    return SelectHead(head.items, _WORDS[word], head.distinct, place, head.distinct_place)


def _parse_list(cursor: Cursor, parse: Callable[[Cursor], _Item]) -> SelectHead[_Item]:
    place = cursor.here
    distinct = cursor.take("DISTINCT")
    if not distinct:
        cursor.take("ALL")
    elif at_stream_word(cursor):
        word = cursor.word()
        hint = f"write SELECT {word}(DISTINCT a, b): what is distinct is the answer"
        primary = f"DISTINCT stands inside {word}"
        refuse("E_SYNTAX", primary, hint=hint, text=cursor.text, place=place)
    items = cursor.separated(lambda: _parse_item(cursor, parse))
    return SelectHead(items, distinct=distinct, distinct_place=place if distinct else None)


def _parse_item(cursor: Cursor, parse: Callable[[Cursor], _Item]) -> _Item:
    if at_stream_word(cursor):
        _refuse_part(cursor, cursor.word(), cursor.here)
    return parse(cursor)


def at_stream_word(cursor: Cursor) -> bool:
    """True if a word comes next that says what of an answer is delivered."""
    is_restored = cursor.at("ISTREAM", "RESTORE", "(")
    return is_restored or (cursor.word() in STREAM_WORDS and cursor.word(1) == "(")


def _refuse_words_not_built(cursor: Cursor) -> None:
    for words in (("ISTREAM", "RESTORE"), ("WSTREAM",)):
        if cursor.at(*words):
            refuse_not_built(" ".join(words), cursor.text, cursor.here)


def _refuse_part(cursor: Cursor, word: str, place: Place) -> NoReturn:
    primary = f"{word} is about whole rows of the answer"
    refuse("E_SYNTAX", primary, hint=_AROUND, text=cursor.text, place=place)


def check_head(head: SelectHead[_Item], select: Select | None, text: str) -> None:
    """Refuses words about answers where there are none, or where one has no answer before it; a
    `select` is there that may have windows."""
    has_window = select is not None and select.window is not None
    if head.delta_place is not None:
        word = next(word for word, delta in _WORDS.items() if delta is head.delta)
        if not has_window:
            primary = f"{word} is about the answers to windows, and this query has none"
            hint = f"add a window: {_STRICT}; without one each row leaves once, as it comes"
            refuse("E_WINDOW", primary, hint=hint, text=text, place=head.delta_place)
        # Of windows that do not slide the binder tells whether rows come and go.
        is_open = select is not None and select.joins_windows and select.is_soft
        if select is not None and head.delta and not is_open:
            _check_delta(word, select, text)
    if head.distinct and not has_window:
        refuse_not_built("SELECT DISTINCT without a window", text, head.distinct_place)


def _check_delta(word: str, select: Select, text: str) -> None:
    if select.is_soft:
        primary = f"{word} compares answers one slide apart, and a soft period has no fixed slide"
        hint = f"give the window one: {_STRICT}"
        refuse("E_WINDOW", primary, hint=hint, text=text, place=select.delta_place)
    if not select.emit.is_default:
        hint = "leave EMIT out: the changes of an answer come as its window closes"
        refuse("E_EMIT", f"{word} has no EMIT", hint=hint, text=text, place=select.emit.place)
    if any(window.other_ranges_us for window in select.windows):
        refuse_not_built(f"{word} over several lengths", text, select.delta_place)
