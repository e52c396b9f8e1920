"""The plan of a query: its meaning as a typed, frozen, printable value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tidemill.catalog import Code
from tidemill.ids import hash_once
from tidemill.language.statements import ON_CLOSE, Delta, Emit, Window
from tidemill.plan.expressions import Node, Scalar, Slot, Value
from tidemill.plan.relation import Relation, check_reads
from tidemill.plan.window_join import WindowJoin
from tidemill.types import BIGINT, BOOLEAN, TIMESTAMP

if TYPE_CHECKING:
    from tidemill.plan.predicates import Predicate

WINDOW_START = Slot("window_start", TIMESTAMP)
WINDOW_END = Slot("window_end", TIMESTAMP)
# An answer is over the rows of its window before this; of a closed window it is the end.
AS_OF = Slot("as_of", TIMESTAMP)
# How often the answer to a window has been corrected, and whether nothing is left of it.
REVISION, WITHDRAWN = Slot("revision", BIGINT), Slot("withdrawn", BOOLEAN)


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
        """The expressions that are worked out for each row."""
        return (*([self.argument] if self.argument else []), *self.others)

    @cached_property
    def sql(self) -> str:
        distinct = "DISTINCT " if self.function == "COUNT_DISTINCT" else ""
        name = "COUNT" if distinct else self.function
        words = [f"{distinct}{self.argument.sql if self.argument else '*'}"]
        others = [other.sql for other in self.others]
        constants = [_constant_sql(value) for value in self.parameters]
        if self.code is None:
            words += [*constants, *(f"SUM({sql})" for sql in others)]
        else:
            words += [*others, *constants]
        return f"{name}({', '.join(words)}){f'.{self.part}' if self.part else ''}"


def _constant_sql(value: Value) -> str:
    return str(value).upper() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Output:
    name: str
    node: Node


@dataclass(frozen=True)
class Ordering:
    node: Node
    descending: bool
    nulls_first: bool


@hash_once
@dataclass(frozen=True)
class QueryPlan:
    """A window and a select list over a relation.

    `tree` has the streams by way of which the query reads it; their columns and conditions are
    in the expressions and the predicate.
    """

    name: str
    relation: Relation
    tree: Relation = field(compare=False)
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
    priority: int = 0  # among soft queries and SELECTs that wait
    emit: Emit = ON_CLOSE
    # Over a union, one for each branch: what it reads there, key by key and call by call.
    # Over several windows also one for each branch of each of them, and how these meet.
    parts: tuple[QueryPlan, ...] = ()
    part_of: str = ""  # of a part, the name of the query
    join: WindowJoin | None = None
    delta: Delta = Delta.NONE
    distinct: bool = False  # of rows of an answer that are equal, the first alone

    def __post_init__(self) -> None:
        # Each part of a query over a union reads another relation, and has been checked.
        if not self.parts:
            check_reads(self.relation, self.scalars)

    @property
    def by_source(self) -> tuple[QueryPlan, ...]:
        """Its parts, each of one source; of a query over one source that query."""
        return self.parts or (self,)

    @property
    def owner(self) -> str:
        """The query that a user has named."""
        return self.part_of or self.name

    @property
    def is_soft(self) -> bool:
        """True if only its newest window is answered, when there is time."""
        return self.window.is_soft

    @property
    def before_us(self) -> int:
        """How long before an answer lies the one that it is compared with; 0 if it is not."""
        return self.window.slide_us if self.delta else 0

    @cached_property
    def revises(self) -> bool:
        """True if rows that come late correct what it has answered."""
        return any(output.node == REVISION for output in self.outputs)

    @property
    def may_withdraw(self) -> bool:
        """True if of a window with an answer nothing may be left."""
        return self.revises and self.having is not None

    def part(self, name: str) -> QueryPlan:
        """As what is read for it by that name: all that is done with an answer is left to it."""
        return replace(
            self,
            name=name,
            part_of=self.name,
            outputs=(),
            having=None,
            order_by=(),
            limit=None,
            delta=Delta.NONE,
            distinct=False,
        )

    def answered_once(self) -> QueryPlan:
        """As a query that is never answered again."""
        outputs = (o for o in self.outputs if o.node not in (REVISION, WITHDRAWN))
        return replace(self, outputs=tuple(outputs))

    @property
    def slots(self) -> tuple[Slot, ...]:
        """What the finishing expressions read, beside the bounds of the window."""
        as_of = (AS_OF,) if self.emit.every_us else ()
        revision = (REVISION, WITHDRAWN) if self.revises else ()
        return (*as_of, *revision, *(k.slot for k in self.keys), *(a.slot for a in self.aggregates))

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """Every tuple-level expression of the query."""
        return (*self.conditions, *self.selected)

    @property
    def conditions(self) -> tuple[Scalar, ...]:
        """Those that say whether a row counts."""
        befores = (before for join in self.relation.joins for before in join.befores)
        return (*befores, *((self.where,) if self.where else ()))

    @property
    def selected(self) -> tuple[Scalar, ...]:
        """Those that are worked out of rows that count."""
        arguments = (scalar for call in self.aggregates for scalar in call.arguments)
        return (*(key.scalar for key in self.keys), *arguments)

    @property
    def finishing(self) -> tuple[Node, ...]:
        """Every expression evaluated after aggregation."""
        having = (self.having,) if self.having is not None else ()
        return (*(o.node for o in self.outputs), *having, *(o.node for o in self.order_by))

    @property
    def is_ordered(self) -> bool:
        return bool(self.order_by) or self.limit is not None
