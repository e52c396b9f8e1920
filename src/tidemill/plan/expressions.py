"""Typed expressions: those of a row, before aggregation, and those over the slots of a group.

A `Scalar` is evaluated once for each row: WHERE, group keys and arguments. A `Node` is what
SELECT, HAVING and ORDER BY mean. A slot is a group key or an aggregate result. Every implicit
cast is a visible `cast` call, so whoever evaluates a tree needs no coercion rules of its own.

>>> from tidemill.types import BIGINT, DOUBLE
>>> total, rows = Slot("total", BIGINT), Slot("rows", BIGINT)
>>> print(Call("div", (cast(total, DOUBLE), cast(rows, DOUBLE)), DOUBLE))
div(cast(total AS DOUBLE), cast(rows AS DOUBLE))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from tidemill.language.names import Name
from tidemill.types import Type

Value = None | bool | int | float | Decimal | str | date | datetime


@dataclass(frozen=True)
class TableColumn:
    """A column that a join brings in, and the name it has beside the stream's own."""

    join: str
    column: str

    @property
    def name(self) -> str:
        return f"{self.join}_{self.column}"


@dataclass(frozen=True)
class Scalar:
    """A tuple-level expression, evaluated by Catalyst once per row.

    `sql` is the user's meaning in canonical text: equal text means equal value, and that
    is what sharing compares. `try_sql` is the form that never raises where Spark has one.
    `raised_sql` is true for the rows where Spark would have raised (empty: never).
    `guarded` asks for a catch-all around functions that have no such form. `columns` are the
    stream's, in its own words; `joined` are those of tables.
    """

    sql: str
    try_sql: str
    type: Type
    columns: tuple[str, ...]
    raised_sql: str = ""
    guarded: bool = False
    joined: tuple[TableColumn, ...] = ()

    @property
    def may_raise(self) -> bool:
        return self.guarded or bool(self.raised_sql)

    @property
    def names(self) -> frozenset[Name]:
        """The names of all columns that it reads."""
        return frozenset(map(Name, (*self.columns, *(column.name for column in self.joined))))


@dataclass(frozen=True)
class Slot:
    """A named input column."""

    name: str
    type: Type

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Literal:
    """A constant; a TIMESTAMP is an aware `datetime` in UTC."""

    value: Value
    type: Type

    def __str__(self) -> str:
        return "NULL" if self.value is None else repr(self.value)


@dataclass(frozen=True)
class Call:
    """One operator whose arguments already have the types it works on.

    `case` takes condition, value, condition, value, … and, when their number is odd, ELSE;
    `in` takes the subject and then the members; `round` takes the value and a literal INT.
    """

    op: str
    args: tuple[Node, ...]
    type: Type

    def __str__(self) -> str:
        target = f" AS {self.type}" if self.op in ("cast", "try_cast") else ""
        return f"{self.op}({', '.join(map(str, self.args))}{target})"


@dataclass(frozen=True)
class Opaque:
    """A whole expression left to Spark: its try_ form and its type.

    `raised_sql` is true where Spark would have raised; empty if no operator of it can.
    """

    sql: str
    type: Type
    raised_sql: str = ""

    def __str__(self) -> str:
        return f"spark[{self.sql}]"


Node = Slot | Literal | Call | Opaque


def cast(node: Node, target: Type) -> Node:
    """The node as the target type; NULL and what has the type already need no call."""
    if node.type == target:
        return node
    if isinstance(node, Literal) and node.value is None:
        return Literal(None, target)
    return Call("cast", (node,), target)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything under it, parents first."""
    yield node
    if isinstance(node, Call):
        for argument in node.args:
            yield from walk(argument)


def is_vectorised(node: Node) -> bool:
    """Whether the tree is evaluated on arrays here and not as SQL by Spark."""
    return not any(isinstance(part, Opaque) for part in walk(node))
