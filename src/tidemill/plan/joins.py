"""Joins of tables: what is joined, on which condition, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from tidemill.plan.expressions import Slot
from tidemill.plan.scalar import Scalar
from tidemill.types import BOOLEAN


@dataclass(frozen=True)
class Join:
    """The way in which a table is joined to rows, before anything else is done with them.

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
    # Known once the table is read: the file that keeps its rows, and whether a row of the
    # stream may have several of them for partners.
    file: str = ""
    multiplies: bool = True
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


def ordered(joins: Iterable[Join]) -> tuple[Join, ...]:
    """Each once and by name, as far as they do not build on others: those may change places."""
    waiting, placed = sorted(dict.fromkeys(joins), key=lambda join: join.name), list[Join]()
    while waiting:
        names = {join.name for join in placed}
        placed.append(next(join for join in waiting if join.builds_on <= names))
        waiting.remove(placed[-1])
    return tuple(placed)


def in_users_words(text: str, joins: Iterable[Join]) -> str:
    """Columns of tables by the name the query gave the table; an inner join as a condition."""
    for join in joins:
        text = text.replace(f"{join.name}_", f"{join.alias}.")
        text = text.replace(join.partner.name, f"(partner in {join.table})")
    return text
