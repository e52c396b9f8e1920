"""SQL data types as Spark names them, as small frozen values.

>>> parse_type("decimal(10, 2)").sql
'DECIMAL(10,2)'
>>> parse_type("long") == BIGINT
True
>>> array_of(struct_of(value=STRING, weight=BIGINT)).arrow
ListType(list<item: struct<value: string, weight: int64>>)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True)
class Type:
    """A Spark SQL type. Nested ones are known by their SQL text; those that aggregates give
    also by the types of their elements or fields."""

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
        """The Arrow type Spark sends for it; for atomic types and those made of them here."""
        if self.is_decimal:
            return pa.decimal128(self.precision, self.scale)
        if not self.inner:
            return _ARROW[self.name]
        if self.name.startswith("ARRAY"):
            return pa.list_(self.inner[0][1].arrow)
        return pa.struct([(name, kind.arrow) for name, kind in self.inner])

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
_NESTED = re.compile(r"(ARRAY|MAP|STRUCT)\s*<.*>$", re.S)
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
    if _NESTED.match(word):
        return Type(text.strip())
    name = _SYNONYMS.get(word, word)
    if name not in _ARROW:
        raise ValueError(f"no type {text.strip()}")
    return Type(name)


def array_of(element: Type) -> Type:
    return Type(f"ARRAY<{element.sql}>", inner=(("item", element),))


def struct_of(**fields: Type) -> Type:
    text = ", ".join(f"{name}: {kind.sql}" for name, kind in fields.items())
    return Type(f"STRUCT<{text}>", inner=tuple(fields.items()))


TYPE_NAMES = (*INTEGER_BITS, "FLOAT", "DOUBLE", "DECIMAL(p,s)", "STRING", "BOOLEAN")
TYPE_NAMES += ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "BINARY", "ARRAY<…>", "MAP<…>", "STRUCT<…>")
