"""SELECT without a window ⇒ the plan of a row query, or why its clauses need a window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from tidemill.catalog import Table
from tidemill.errors import Place, refuse
from tidemill.language.names import Name, quote_name
from tidemill.language.statements import CreateQuery, Expr, OrderItem, SelectItem
from tidemill.plan.bind.branch import (
    Branch,
    joins_met,
    source_of,
    tree_over,
    where_over,
)
from tidemill.plan.bind.clauses import (
    ScalarBinder,
    check_output_name,
    column_name,
    predicate_of,
)
from tidemill.plan.bind.environment import ExtentOracle
from tidemill.plan.bind.scope import Scope, aggregate_calls, place_in
from tidemill.plan.expressions import Scalar
from tidemill.plan.joins import JoinTerms
from tidemill.plan.relation import Projection, join_all
from tidemill.plan.row_query import RowQuery

_ADD_WINDOW = "add a window: FROM stream [RANGE r SLIDE s]"
_NAMED_TWICE = "name one of them with AS; of columns that two parts of FROM have, name one"


@dataclass(frozen=True)
class RowBinder:
    """Binds a query whose answers are rows of its stream."""

    query: CreateQuery
    branch: Branch
    scalars: ScalarBinder
    joins: tuple[JoinTerms, ...]
    extent_of: ExtentOracle

    def plan(self, tables: tuple[Table, ...]) -> RowQuery:
        """`tables` are those of the query's joins, in order."""
        select, branch = self.query.select, self.branch
        self._refuse_clauses()
        where = where_over(branch, self.scalars, select.where)
        columns, is_ordered = self._columns(), self._is_ordered()
        joins = joins_met(branch, self.joins, tables, select.joins, self.extent_of)
        return RowQuery(
            name=self.query.name,
            relation=join_all(source_of(branch.source), joins.values()),
            tree=tree_over(branch, self.joins, joins),
            sink=self.query.into,
            where=where,
            predicate=predicate_of(where, joins, self.scalars.types),
            columns=columns,
            ordered=is_ordered,
        )

    @property
    def _scope(self) -> Scope:
        return self.scalars.scope

    def _refuse_clauses(self) -> None:
        """Refuses what puts rows together, for which there has to be an end of them."""
        select = self.query.select
        if select.group_by:
            _refuse_without_window("GROUP BY", select.group_by[0].place)
        if select.having is not None:
            _refuse_without_window("HAVING", select.having.place)
        if select.emit.place is not None:
            _refuse_without_window("EMIT", select.emit.place)
        if select.limit is not None:
            _refuse_without_window("LIMIT", select.place)

    def _columns(self) -> tuple[Projection, ...]:
        columns: list[Projection] = []
        names: set[Name] = set()
        for item in self.query.select.items:
            for name, tree in self._named(item):
                check_output_name(name, names, item.expr.place, _NAMED_TWICE)
                names.add(Name(name))
                columns.append(Projection(name, self._bind(item.expr, tree)))
        return tuple(columns)

    def _bind(self, expr: Expr, tree: exp.Expr) -> Scalar:
        for node, function in aggregate_calls(tree, self._scope.aggregates):
            _refuse_without_window(f"aggregate {function}", place_in(expr, node))
        return self.scalars.bind(expr, tree.unnest())

    def _named(self, item: SelectItem) -> Iterator[tuple[str, exp.Expr]]:
        """The columns of an item: one, or all that there are."""
        if not isinstance(item.expr.tree, exp.Star):
            yield column_name(item), self._scope.resolve(item.expr)
            return
        for entry, name in self._scope.starred:
            yield entry.declared[name].name, entry.tree(name)

    def _is_ordered(self) -> bool:
        order_by = self.query.select.order_by
        if not order_by:
            return False
        if self._scope.time is None:
            refuse(
                "E_NO_TIME",
                f"rows of stream {self.branch.name} have no time to be ordered by",
                hint=f"without ORDER BY they leave as they come; or {_ADD_WINDOW}, "
                "which is over the time of arrival",
                place=order_by[0].place,
            )
        if len(order_by) > 1 or not self._is_time(order_by[0]):
            ts = quote_name(self.branch.time_column)
            refuse(
                "E_WINDOW",
                f"rows without a window have no other order than that of {ts}, the stream's time",
                hint=f"ORDER BY {ts}; without it rows leave as they come; or {_ADD_WINDOW}",
                place=order_by[-1].place,
            )
        return True

    def _is_time(self, item: OrderItem) -> bool:
        tree = self._scope.resolve(self._meant(item.expr)).unnest()
        return tree == self._scope.time and not item.descending

    def _meant(self, expr: Expr) -> Expr:
        """What is ordered by: a name that is no column may be one of the select list."""
        tree = expr.tree
        if (
            not isinstance(tree, exp.Column)
            or tree.table
            or Name(tree.name) in self._scope.unqualified
        ):
            return expr
        items = self.query.select.items
        return next((i.expr for i in items if i.alias and Name(i.alias) == Name(tree.name)), expr)


def _refuse_without_window(clause: str, place: Place | None) -> NoReturn:
    refuse(
        "E_WINDOW",
        f"{clause} needs a window, and this stream has none",
        hint=f"{_ADD_WINDOW}; without one each row that passes WHERE is an answer by itself",
        place=place,
    )
