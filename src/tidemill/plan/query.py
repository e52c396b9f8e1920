"""What a query means: a typed, frozen, printable plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tidemill.catalog import Code
from tidemill.language.statements import Window
from tidemill.plan.expressions import Node, Slot, Value
from tidemill.types import BOOLEAN, TIMESTAMP, Type

if TYPE_CHECKING:
    from tidemill.plan.predicates import Predicate

WINDOW_START = Slot("window_start", TIMESTAMP)
WINDOW_END = Slot("window_end", TIMESTAMP)


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


@dataclass(frozen=True)
class Join:
    """A table joined to the rows of a stream before anything else is done with them.

    `name` stands for the table and the condition in canonical form, and each column of the
    table is called after it: equal names mean equal joins, in whatever query, and so the text
    of a scalar means one thing everywhere. `equal` are pairs of an expression over what was
    there before and one over the table; a row of the table is a partner when all pairs are
    equal and the residual holds.

    Rows without a partner always stay, with NULLs: an inner join is a left one with the
    predicate that there is a partner. So what a table unique on its side of the equalities
    is joined to has the same rows as before, and queries with and without the join share.
    """

    name: str
    table: str
    kind: Literal["inner", "left"] = field(compare=False)
    equal: tuple[tuple[Scalar, Scalar], ...]
    residual: Scalar | None = None
    alias: str = field(default="", compare=False)
    # What is known once the table is read: the file that keeps its rows, and whether a row of
    # the stream may have several of them for partners.
    file: str = ""
    multiplies: bool = True

    @property
    def partner(self) -> Slot:
        """A column beside the table's own: true where there is a partner, else NULL."""
        return Slot(self.name, BOOLEAN)

    @property
    def sql(self) -> str:
        pairs = [f"{before.sql} = {table.sql}" for before, table in self.equal]
        return " AND ".join([*pairs, *([self.residual.sql] if self.residual else [])])

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        sides = (side for pair in self.equal for side in pair)
        return (*sides, *([self.residual] if self.residual else []))

    @property
    def befores(self) -> tuple[Scalar, ...]:
        """The sides of the equalities that are worked out for rows of the stream."""
        return tuple(before for before, _ in self.equal)


@dataclass(frozen=True)
class Key:
    """One expression of the GROUP BY, and the slot that carries it after aggregation."""

    slot: Slot
    scalar: Scalar


@dataclass(frozen=True)
class AggregateCall:
    """One distinct aggregate of a query, and the slot that carries its result.

    `others` are what is worked out for each row beside the argument: the weight that TOP adds
    up, or further arguments of a user's aggregate. `parameters` are the constants after them.
    `part` is not empty for what an answer has beside the value, as its bounds; `code` is there
    for an aggregate that a user has written.
    """

    slot: Slot
    function: str
    argument: Scalar | None
    parameters: tuple[Value, ...] = ()
    others: tuple[Scalar, ...] = ()
    part: str = ""
    code: Code | None = None

    @property
    def arguments(self) -> tuple[Scalar, ...]:
        """What is worked out for each row."""
        return (*([self.argument] if self.argument else []), *self.others)

    @property
    def sql(self) -> str:
        distinct = "DISTINCT " if self.function == "COUNT_DISTINCT" else ""
        name = "COUNT" if distinct else self.function
        words = [f"{distinct}{self.argument.sql if self.argument else '*'}"]
        others = [other.sql for other in self.others]
        constants = [str(value) for value in self.parameters]
        if self.function == "TOP":
            words += [*constants, *(f"SUM({sql})" for sql in others)]
        else:
            words += [*others, *constants]
        return f"{name}({', '.join(words)}){f'.{self.part}' if self.part else ''}"


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
    priority: int = 0  # among soft queries

    @property
    def is_soft(self) -> bool:
        """Whether only its newest window is answered, when there is time."""
        return self.window.is_soft

    @property
    def slots(self) -> tuple[Slot, ...]:
        return (*(k.slot for k in self.keys), *(a.slot for a in self.aggregates))

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """Every tuple-level expression of the query."""
        befores = (before for join in self.joins for before in join.befores)
        where = (self.where,) if self.where else ()
        arguments = (scalar for call in self.aggregates for scalar in call.arguments)
        return (*befores, *where, *(key.scalar for key in self.keys), *arguments)

    @property
    def finishing(self) -> tuple[Node, ...]:
        """Every expression evaluated after aggregation."""
        having = (self.having,) if self.having is not None else ()
        return (*(o.node for o in self.outputs), *having, *(o.node for o in self.order_by))

    @property
    def is_ordered(self) -> bool:
        return bool(self.order_by) or self.limit is not None


def in_users_words(text: str, joins: Iterable[Join]) -> str:
    """Columns of tables by the name the query gave the table; an inner join as a condition."""
    for join in joins:
        text = text.replace(f"{join.name}_", f"{join.alias}.")
        text = text.replace(join.partner.name, f"(partner in {join.table})")
    return text
