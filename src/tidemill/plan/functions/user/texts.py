"""The types in a declaration, from their texts."""

from __future__ import annotations

import re
from typing import NoReturn

from tidemill.errors import refuse
from tidemill.types import TIMESTAMP, Type, array_of, parse_type

EVENT_TIME = "EVENT TIME"
_LISTED = re.compile(r"(.+?)\s*\[\s*(\d+)\s*\]")
_ARRAY = re.compile(r"ARRAY\s*<(.+)>", re.I)
_NOT_KEPT = ("STRING", "BINARY", "VOID")
_MOST_LENGTH = 10_000


def parse_argument(cls: type, name: str, text: str) -> tuple[Type, bool]:
    """The type, and whether it is the time of the row."""
    if " ".join(text.upper().split()) == EVENT_TIME:
        return TIMESTAMP, True
    return _plain(cls, f"argument {name}", text), False


def parse_field(cls: type, name: str, text: str) -> tuple[Type, int | None]:
    """The type, and how many of them there are in a list."""
    what = f"field {name} of the state"
    if name.startswith("_"):
        _refuse(cls, f"{what} begins with '_', which is kept for the engine")
    listed = _LISTED.fullmatch(text.strip())
    kind = _plain(cls, what, listed[1] if listed else text)
    if kind.is_decimal or kind.name in _NOT_KEPT:
        _refuse(cls, f"{what} is {kind}", "a state keeps numbers, booleans, dates and times")
    length = int(listed[2]) if listed else None
    if length is not None and not 1 <= length <= _MOST_LENGTH:
        _refuse(cls, f"{what} has {length} values", f"a list has 1 to {_MOST_LENGTH:,}")
    return kind, length


def parse_result(cls: type, text: str) -> Type:
    nested = _ARRAY.fullmatch(text.strip())
    if nested:
        return array_of(parse_result(cls, nested[1]))
    return _plain(cls, "the result", text)


def _plain(cls: type, what: str, text: str) -> Type:
    try:
        kind = parse_type(text)
    except ValueError as error:
        _refuse(cls, f"{what}: {error}", "types are those of SQL, as DOUBLE or TIMESTAMP")
    if not kind.is_atomic:
        _refuse(cls, f"{what} is {kind}", "plain types are built, and ARRAY<…> for the result")
    return kind


def _refuse(cls: type, primary: str, hint: str = "") -> NoReturn:
    refuse("E_AGGREGATE", f"class {cls.__name__}: {primary}", hint=hint)
