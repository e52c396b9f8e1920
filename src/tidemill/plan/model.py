"""What a query means: a typed, frozen, printable plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidemill.language.statements import Window
from tidemill.plan.expressions import Node, Slot
from tidemill.types import TIMESTAMP, Type

if TYPE_CHECKING:
    from tidemill.plan.predicates import Predicate

WINDOW_START = Slot("window_start", TIMESTAMP)
WINDOW_END = Slot("window_end", TIMESTAMP)


@dataclass(frozen=True)
class Scalar:
    """A tuple-level expression, evaluated by Catalyst once per row.

    `sql` is the user's meaning in canonical text: equal text means equal value, and that
    is what sharing compares. `try_sql` is the form that never raises where Spark has one.
    `raised_sql` is true for the rows where Spark would have raised (empty: never).
    `guarded` asks for a catch-all around functions that have no such form.
    """

    sql: str
    try_sql: str
    type: Type
    columns: tuple[str, ...]
    raised_sql: str = ""
    guarded: bool = False

    @property
    def may_raise(self) -> bool:
        return self.guarded or bool(self.raised_sql)


@dataclass(frozen=True)
class Key:
    """One expression of the GROUP BY, and the slot that carries it after aggregation."""

    slot: Slot
    scalar: Scalar


@dataclass(frozen=True)
class AggregateCall:
    """One distinct aggregate of a query, and the slot that carries its result."""

    slot: Slot
    function: str
    argument: Scalar | None

    @property
    def sql(self) -> str:
        return f"{self.function}({self.argument.sql if self.argument else '*'})"


@dataclass(frozen=True)
class Join:
    """A static table that rows of the stream are joined with."""

    table: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Output:
    name: str
    node: Node


@dataclass(frozen=True)
class Ordering:
    node: Node
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class QueryPlan:
    """A standing query, bound to its stream."""

    name: str
    stream: str
    sink: str | None
    window: Window
    where: Scalar | None
    predicate: Predicate  # WHERE in canonical form
    keys: tuple[Key, ...]
    aggregates: tuple[AggregateCall, ...]
    outputs: tuple[Output, ...]
    having: Node | None
    order_by: tuple[Ordering, ...]
    limit: int | None
    joins: tuple[Join, ...] = ()

    @property
    def slots(self) -> tuple[Slot, ...]:
        return (*(k.slot for k in self.keys), *(a.slot for a in self.aggregates))

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """Every tuple-level expression of the query."""
        where = (self.where,) if self.where else ()
        arguments = (a.argument for a in self.aggregates if a.argument)
        return (*where, *(key.scalar for key in self.keys), *arguments)

    @property
    def finishing(self) -> tuple[Node, ...]:
        """Every expression evaluated after aggregation."""
        having = (self.having,) if self.having is not None else ()
        return (*(o.node for o in self.outputs), *having, *(o.node for o in self.order_by))

    @property
    def is_ordered(self) -> bool:
        return bool(self.order_by) or self.limit is not None
