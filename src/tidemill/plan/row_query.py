"""The plan of a row query, one whose answers are rows and no windows: which leave, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidemill.ids import hash_once
from tidemill.plan.expressions import Scalar
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import Projection, Relation, check_reads
from tidemill.plan.row_join import RowJoin
from tidemill.types import Type

if TYPE_CHECKING:
    from tidemill.plan.predicates import Predicate


@hash_once
@dataclass(frozen=True)
class RowQuery:
    """A select list over the rows of a relation that pass a condition.

    They leave with the tick that takes them; if they are `ordered`, in the order of the stream's
    time, each once the watermark has passed it. `tree` is as that of other queries. Of a `join`
    of windows the parts hold the rows, and its results leave in the order of time.
    """

    name: str
    relation: Relation
    tree: Relation = field(compare=False)
    sink: str | None
    where: Scalar | None
    predicate: Predicate  # WHERE in canonical form
    columns: tuple[Projection, ...]
    ordered: bool = False
    # Over a union, one for each branch; over several windows, one for each branch of each.
    parts: tuple[RowQuery, ...] = ()
    part_of: str = ""  # of a part, the name of the query
    # Of a part of a join, what its first columns are widened to: the key that rows are held by.
    key: tuple[Type, ...] = ()
    join: RowJoin | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            check_reads(self.relation, self.scalars)

    @property
    def by_source(self) -> tuple[RowQuery, ...]:
        """Its parts, each of one source; of a query over one source that query."""
        return self.parts or (self,)

    @property
    def owner(self) -> str:
        """The query that a user has named."""
        return self.part_of or self.name

    @property
    def lives_us(self) -> int:
        """How long after the newest row something may leave yet."""
        return self.join.longest_us if self.join and self.join.goes else 0

    def leaves_us(self, part: int) -> int:
        """How far beyond the time of a row of a part the watermark has to be for it to leave."""
        return self.join.range_us(part) if self.join and self.join.goes else 1

    @property
    def conditions(self) -> tuple[Scalar, ...]:
        """The expressions that say whether a row leaves."""
        befores = (before for join in self.relation.joins for before in join.befores)
        return (*befores, *([self.where] if self.where else []))

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """Every expression of the query."""
        return (*self.conditions, *(column.scalar for column in self.columns))


AnyQuery = QueryPlan | RowQuery


UNION_SIGN, JOIN_SIGN = "⊎", "⋈"


def part_name(query: str, number: int, sign: str = UNION_SIGN) -> str:
    """The name of a part of a query over a union, or over windows that are joined; no user gives
    a query such a one."""
    return f"{query} {sign}{number}"
