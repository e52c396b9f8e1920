"""The window behind the name of a stream: from tokens to a `Window`."""

from __future__ import annotations

import re
from typing import NoReturn

from tidemill.durations import parse_duration_at, render_duration
from tidemill.errors import Place, refuse
from tidemill.language.cursor import Cursor
from tidemill.language.not_built import refuse_not_built
from tidemill.language.statements import Window

_DURATION_STOPS = ("SLIDE", "START", "INTERNAL", ",", "]", "[", "WITH")
# [NOW]: a row at its own instant, and no later.
NOW_US = 1
_COMMENT = re.compile(r"--[^\n\r]*|/\*.*?\*/", re.S)
_WINDOW_FORM = "write [RANGE r SLIDE s], for example [RANGE 30 SECONDS SLIDE 5 SECONDS]"


def refuse_bare_window(cursor: Cursor) -> None:
    """`FROM s RANGE 5 SECONDS`: else the word would be taken for an alias."""
    if cursor.word() in ("RANGE", "WINDOW") and cursor.word(1)[:1] in tuple("0123456789'"):
        _fail(cursor, "a window stands in brackets", _WINDOW_FORM, cursor.here)


def parse_window(cursor: Cursor) -> Window:
    """The window that comes next; refuses what is no window or not built."""
    opening = cursor.index
    cursor.expect("[")
    if cursor.take("NOW"):
        cursor.expect("]", hint=_WINDOW_FORM)
        return Window(NOW_US, 0, is_soft=True, place=cursor.since(opening))
    _parse_range_word(cursor)
    range_us, *others_us = _parse_ranges(cursor)
    slide_us, is_soft = _parse_slide(cursor)
    start_us = _parse_start(cursor, slide_us, is_soft)
    if cursor.at("INTERNAL"):
        refuse_not_built("INTERNAL", cursor.text, cursor.here)
    cursor.expect("]", hint=_WINDOW_FORM)
    place = cursor.since(opening)
    return Window(range_us, slide_us, start_us, tuple(others_us), is_soft, place=place)


def _parse_range_word(cursor: Cursor) -> None:
    if cursor.at("ROWS"):
        refuse_not_built("a window by rows", cursor.text, cursor.here)
    if cursor.at("PARTITION BY"):
        refuse_not_built("PARTITION BY in a window", cursor.text, cursor.here)
    if not cursor.take_any(("RANGE", "WINDOW")):
        cursor.fail("RANGE", code="E_WINDOW", hint=_WINDOW_FORM)


def _parse_ranges(cursor: Cursor) -> list[int]:
    """One length or several; of equal ones the second would only repeat its answers."""
    ranges_us: list[int] = []
    for range_us, place in cursor.separated(lambda: parse_length(cursor, "RANGE")):
        if range_us in ranges_us:
            primary = f"the range {render_duration(range_us)} is given twice"
            _fail(cursor, primary, "each length is answered once; leave one out", place)
        ranges_us.append(range_us)
    return ranges_us


def _parse_slide(cursor: Cursor) -> tuple[int, bool]:
    """The slide, and whether it is soft; a range alone is refreshed with every update."""
    if cursor.at("]"):
        return 0, True
    if not cursor.take("SLIDE"):
        cursor.fail("SLIDE", code="E_WINDOW", hint=_WINDOW_FORM)
    is_soft = cursor.take("UP", "TO")
    return parse_length(cursor, "SLIDE UP TO" if is_soft else "SLIDE")[0], is_soft


def _parse_start(cursor: Cursor, slide_us: int, is_soft: bool) -> int:
    place = cursor.here
    if not cursor.take("START"):
        return 0
    if is_soft:
        hint = "windows of a soft period end at the stream's updates; leave START out"
        _fail(cursor, "a soft period has no START", hint, place)
    start_us, place = _duration(cursor, "START")
    if abs(start_us) >= slide_us:
        _fail(cursor, "START must be shorter than SLIDE", "take the remainder by SLIDE", place)
    return start_us


def parse_length(cursor: Cursor, clause: str, hint: str = _WINDOW_FORM) -> tuple[int, Place]:
    us, place = _duration(cursor, clause)
    if us <= 0:
        problem = "zero" if us == 0 else "negative"
        primary = f"{clause} cannot be {problem}"
        refuse("E_DURATION", primary, hint=hint, text=cursor.text, place=place)
    return us, place


def _duration(cursor: Cursor, clause: str) -> tuple[int, Place]:
    cursor.take("BY")
    first = cursor.index
    raw = _COMMENT.sub(" ", cursor.until(_DURATION_STOPS))
    if not raw:
        hint = "a number and a unit, for example 5 SECONDS"
        cursor.fail(f"a duration after {clause}", code="E_DURATION", hint=hint)
    place = cursor.since(first)
    return parse_duration_at(raw, cursor.text, place), place


def _fail(cursor: Cursor, primary: str, hint: str, place: Place) -> NoReturn:
    refuse("E_WINDOW", primary, hint=hint, text=cursor.text, place=place)
