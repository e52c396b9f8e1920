"""SQL data types as Spark names them, as small frozen values.

>>> parse_type("decimal(10, 2)").sql
'DECIMAL(10,2)'
>>> parse_type("long") == BIGINT
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Type:
    """A Spark SQL type; nested types are carried as their SQL text only."""

    name: str
    precision: int = 0
    scale: int = 0

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
        """The Arrow type Spark sends for it; only for atomic types."""
        return pa.decimal128(self.precision, self.scale) if self.is_decimal else _ARROW[self.name]

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


TYPE_NAMES = (*INTEGER_BITS, "FLOAT", "DOUBLE", "DECIMAL(p,s)", "STRING", "BOOLEAN")
TYPE_NAMES += ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "BINARY", "ARRAY<…>", "MAP<…>", "STRUCT<…>")
