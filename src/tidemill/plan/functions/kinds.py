"""Over which types aggregates are, and which types most of them give."""

from __future__ import annotations

from tidemill.types import BIGINT, DOUBLE, STRING, Type


def is_number(kind: Type) -> bool:
    return kind.is_numeric


def is_plain(kind: Type) -> bool:
    return kind.is_atomic and kind.name != "VOID"


def text_as_double(kind: Type) -> Type | None:
    """Spark takes text for numbers where it needs some."""
    return DOUBLE if kind == STRING else None


def itself(kind: Type) -> Type:
    return kind


def whole(_: Type) -> Type:
    return BIGINT


def double(_: Type) -> Type:
    return DOUBLE
