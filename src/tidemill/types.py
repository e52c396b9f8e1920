"""SQL data types as Spark names them, as small frozen values.

>>> parse_type("decimal(10, 2)").sql
'DECIMAL(10,2)'
>>> parse_type("long") == BIGINT
True
>>> parse_type("array<struct<a: int, b: map<string, decimal(3,1)>>>").arrow
ListType(list<item: struct<a: int32, b: map<string, decimal128(3, 1)>>>)
>>> array_of(struct_of(value=STRING, weight=BIGINT)).arrow
ListType(list<item: struct<value: string, weight: int64>>)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True)
class Type:
    """A Spark SQL type. Nested ones are known by their SQL text, and `inner` are the types of
    their elements, fields, or keys and values."""

    name: str
    precision: int = 0
    scale: int = 0
    inner: tuple[tuple[str, Type], ...] = field(default=(), compare=False)

    @property
    def sql(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})" if self.is_decimal else self.name

    @property
    def is_integer(self) -> bool:
        return self.name in INTEGER_BITS

    @property
    def is_float(self) -> bool:
        return self.name in ("FLOAT", "DOUBLE")

    @property
    def is_decimal(self) -> bool:
        return self.name == "DECIMAL"

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_float or self.is_decimal

    @property
    def is_atomic(self) -> bool:
        return self.is_decimal or self.name in _ARROW

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type Spark sends for it; for atomic types and those made of them."""
        if self.is_decimal:
            return pa.decimal128(self.precision, self.scale)
        if not self.inner:
            return _ARROW[self.name]
        kinds = [kind.arrow for _, kind in self.inner]
        match self.name[:3].upper():
            case "ARR":
                return pa.list_(*kinds)
            case "MAP":
                return pa.map_(*kinds)
        return pa.struct(list(zip((name for name, _ in self.inner), kinds, strict=True)))

    def __str__(self) -> str:
        return self.sql


INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}

BOOLEAN, TINYINT, SMALLINT, INT, BIGINT = map(
    Type, ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT")
)
FLOAT, DOUBLE, STRING, BINARY = map(Type, ("FLOAT", "DOUBLE", "STRING", "BINARY"))
DATE, TIMESTAMP, TIMESTAMP_NTZ, VOID = map(Type, ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "VOID"))

_ARROW: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "VOID": pa.null(),
}
_SYNONYMS = {
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "REAL": "FLOAT",
    "TEXT": "STRING",
    "BOOL": "BOOLEAN",
    "TIMESTAMP_LTZ": "TIMESTAMP",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
}
_DECIMAL = re.compile(r"(DECIMAL|DEC|NUMERIC)(?:\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?$")
_NESTED = re.compile(r"(ARRAY|MAP|STRUCT)\s*<(.*)>$", re.S | re.I)
_FIELD = re.compile(r"\s*(\w+)\s*(?::|\s)\s*(.*)", re.S)
_SIZED_TEXT = re.compile(r"(VARCHAR|CHAR)\s*\(\s*\d+\s*\)$")


def parse_type(text: str) -> Type:
    """The type a piece of SQL names; raises `ValueError` when there is none such."""
    word = text.strip().upper()
    if match := _DECIMAL.match(word):
        precision, scale = int(match[2] or 10), int(match[3] or 0)
        if not 1 <= precision <= 38 or scale > precision:
            raise ValueError(f"no type {text.strip()}: precision is 1 to 38 and covers the scale")
        return Type("DECIMAL", precision, scale)
    if _SIZED_TEXT.match(word):
        return STRING
    if match := _NESTED.match(text.strip()):
        return Type(text.strip(), inner=_inner(match[1].upper(), _parted(match[2])))
    name = _SYNONYMS.get(word, word)
    if name not in _ARROW:
        raise ValueError(f"no type {text.strip()}")
    return Type(name)


def _inner(kind: str, parts: list[str]) -> tuple[tuple[str, Type], ...]:
    """The types inside a nested one; nothing if one of them is not known here."""
    fields = [_FIELD.match(part) for part in parts]
    try:
        if kind == "STRUCT":
            return tuple((field[1], parse_type(field[2])) for field in fields if field)
        names = ("item",) if kind == "ARRAY" else ("key", "value")
        return tuple((name, parse_type(part)) for name, part in zip(names, parts, strict=True))
    except ValueError:
        return ()


def _parted(text: str) -> list[str]:
    """Parts between commas that stand in no brackets.

    >>> _parted("a: DECIMAL(3,1), b: MAP<INT, INT>")
    ['a: DECIMAL(3,1)', ' b: MAP<INT, INT>']
    """
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def array_of(element: Type) -> Type:
    return Type(f"ARRAY<{element.sql}>", inner=(("item", element),))


def struct_of(**fields: Type) -> Type:
    text = ", ".join(f"{name}: {kind.sql}" for name, kind in fields.items())
    return Type(f"STRUCT<{text}>", inner=tuple(fields.items()))


TYPE_NAMES = (*INTEGER_BITS, "FLOAT", "DOUBLE", "DECIMAL(p,s)", "STRING", "BOOLEAN")
TYPE_NAMES += ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "BINARY", "ARRAY<…>", "MAP<…>", "STRUCT<…>")
