"""Joins of tables: the terms that a query states, and the rows that are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from tidemill.plan.expressions import Scalar, Slot
from tidemill.types import BOOLEAN, Type


@dataclass(frozen=True)
class TableExtent:
    """The rows of a table that a join reads, and the number of them that a row may meet.

    `file` keeps the rows; `multiplies` is true if a row of the stream may have several partners.
    """

    file: str
    multiplies: bool


@dataclass(frozen=True)
class JoinTerms:
    """The terms on which a table is joined to rows, as far as the text of a query states them.

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
    # All columns of the table, under the names that they have beside the stream's own.
    columns: tuple[Slot, ...] = field(default=(), compare=False)

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

    @property
    def builds_on(self) -> frozenset[str]:
        """The names of the joins whose tables the condition reads, beside its own."""
        joined = (column.join for scalar in self.scalars for column in scalar.joined)
        return frozenset(joined) - {self.name}

    def over(self, extent: TableExtent) -> Join:
        """The join of these rows on these terms."""
        return Join(**vars(self), file=extent.file, multiplies=extent.multiplies)


@dataclass(frozen=True, kw_only=True)
class Join(JoinTerms):
    """The way in which the rows of a table are joined, before anything else is done with rows."""

    file: str
    multiplies: bool

    @property
    def extent(self) -> TableExtent:
        return TableExtent(self.file, self.multiplies)


def equal_as_stored(before: Type, compared: Type) -> bool:
    """True if values of two types are equal just where they are stored alike, without a cast.

    Floats are not: zero has two signs, and NaN many forms.
    """
    alike = before == compared or (before.is_integer and compared.is_integer)
    return alike and not compared.is_float


def in_users_words(text: str, joins: Iterable[Join]) -> str:
    """Columns of tables by the name the query gave the table; an inner join as a condition."""
    for join in joins:
        text = text.replace(f"{join.name}_", f"{join.alias}.")
        text = text.replace(join.partner.name, f"(partner in {join.table})")
    return text
