"""SELECT DISTINCT: as GROUP BY of what is selected, or as rows of the answer each once; and what
rows of answers can be compared at all."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace

from sqlglot import exp

from tidemill.errors import Place, refuse
from tidemill.language.expressions.trees import to_sql
from tidemill.language.names import Name
from tidemill.language.statements import Expr, Select
from tidemill.plan.bind.scope import Scope, aggregate_calls
from tidemill.plan.expressions import Call, Literal, Node
from tidemill.plan.query import WINDOW_END, WINDOW_START, Output
from tidemill.types import Type


def grouped_by_list(select: Select, scope: Scope, bounds: Set[str]) -> Select:
    """SELECT DISTINCT without aggregates as GROUP BY of what it selects.

    Where the bounds of the window are part of an expression, rows are grouped by the columns beside
    them, and the rows of the answer are made distinct.
    """
    items = [item.expr.tree for item in select.items]
    is_grouped = bool(select.group_by) or select.having is not None
    if is_grouped or any(_aggregates(tree, scope) for tree in items):
        return select
    keys, distinct = list[Expr](), False
    for item, tree in zip(select.items, items, strict=True):
        columns = list(tree.find_all(exp.Column))
        of_rows = [c for c in columns if c.table or Name(c.name) not in bounds]
        if of_rows and len(of_rows) == len(columns):
            keys.append(item.expr)
        elif of_rows:
            keys += [Expr(to_sql(column), item.expr.place) for column in of_rows]
            distinct = True
    return replace(select, group_by=tuple(keys), distinct=distinct)


def _aggregates(tree: exp.Expr, scope: Scope) -> bool:
    return next(aggregate_calls(tree, scope.aggregates), None) is not None


def check_comparable(select: Select, outputs: Iterable[Output]) -> None:
    """Refuses rows of answers that have to be compared and cannot be."""
    for output in outputs:
        if not _is_comparable(output.node.type):
            refuse(
                "E_TYPE",
                f"rows with {output.name}, which is {output.node.type}, cannot be compared",
                hint=f"{select.delta or 'DISTINCT'} compares rows of answers; leave the column out",
                place=select.delta_place or select.place,
            )


def _is_comparable(kind: Type) -> bool:
    if kind.is_atomic:
        return True
    is_map = kind.name[:3].upper() == "MAP"
    return bool(kind.inner) and not is_map and all(_is_comparable(part) for _, part in kind.inner)


def check_distinct_order(node: Node, outputs: Iterable[Output], place: Place | None) -> None:
    """Refuses an order of distinct rows by what they do not tell."""
    if not _is_told(node, {WINDOW_START, WINDOW_END, *(output.node for output in outputs)}):
        refuse(
            "E_UNGROUPED",
            "SELECT DISTINCT is ordered by what it selects, and by nothing else",
            detail="rows that it puts together may differ in the rest",
            hint="select what is to order the rows",
            place=place,
        )


def _is_told(node: Node, outputs: Set[Node]) -> bool:
    if node in outputs or isinstance(node, Literal):
        return True
    return isinstance(node, Call) and all(_is_told(inner, outputs) for inner in node.args)
