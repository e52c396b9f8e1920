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
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from tidemill.language.names import quote_name
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
    """A tuple-level expression, evaluated once per row by Catalyst or on arrays.

    `sql` is the user's meaning in canonical text: equal text means equal value, and that
    is what sharing compares. `try_sql` is the form that never raises where Spark has one.
    `raised_sql` is true for the rows where Spark would have raised (empty: never).
    `guarded` asks for a catch-all around functions that have no such form. `columns` are the
    stream's, in its own words; `joined` are those of tables. `node` is the typed tree if arrays
    compute the expression; it follows from the text and the types of the columns.
    """

    sql: str
    try_sql: str
    type: Type
    columns: tuple[str, ...]
    raised_sql: str = ""
    guarded: bool = False
    joined: tuple[TableColumn, ...] = ()
    node: Node | None = field(default=None, compare=False, repr=False)

    @property
    def may_raise(self) -> bool:
        return self.guarded or bool(self.raised_sql)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, of the stream and of tables, by the names they have in `sql`."""
        return (*self.columns, *(column.name for column in self.joined))

    @property
    def is_column(self) -> bool:
        """True if the expression is a column as it is."""
        return self.names[:1] != () and self.sql == quote_name(self.names[0])

    @property
    def is_on_arrays(self) -> bool:
        """True if arrays have its values: a column as it is, or a computed one."""
        return self.is_column or self.node is not None


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
    """True if the tree is evaluated on arrays here and not as SQL by Spark."""
    return not any(isinstance(part, Opaque) for part in walk(node))
