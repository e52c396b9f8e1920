"""Statement + catalog ⇒ plan: every refusal of a query's meaning is here."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from tidemill.catalog import Stream
from tidemill.errors import listing, refuse
from tidemill.language.statements import Expr, Select, SelectItem
from tidemill.language.trees import to_sql
from tidemill.plan import aggregates
from tidemill.plan.expressions import Node, Opaque, Slot
from tidemill.plan.model import (
    WINDOW_END,
    WINDOW_START,
    AggregateCall,
    Key,
    Ordering,
    Output,
    QueryPlan,
    Scalar,
)
from tidemill.plan.raises import needs_guard, raised_sql
from tidemill.plan.scope import Scope, aggregate_calls, check_replayable, place_in
from tidemill.plan.try_forms import to_spark_sql
from tidemill.plan.typing import TypeOracle, type_expression
from tidemill.types import BOOLEAN, VOID, Type

_CONDITION = "write a condition, such as a comparison: … > 0"


def bind(
    name: str, sink: str | None, select: Select, stream: Stream, oracle: TypeOracle
) -> QueryPlan:
    """The plan of one query over one stream."""
    return _Binder(select, stream, oracle).plan(name, sink)


@dataclass
class _Binder:
    """Slots are found in the order keys, SELECT, HAVING, ORDER BY; equal calls share one."""

    select: Select
    stream: Stream
    oracle: TypeOracle
    keys: list[Key] = field(default_factory=list)
    calls: dict[str, AggregateCall] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scope = Scope(self.select, self.stream)
        self.types = {key: column.type for key, column in self.scope.columns.items()}
        self.aliases = {i.alias.lower(): i.expr for i in self.select.items if i.alias}

    def plan(self, name: str, sink: str | None) -> QueryPlan:
        where = self._where()
        self.keys = self._keys()
        outputs = self._outputs()
        having = self._having()
        ordering = tuple(
            Ordering(self._finish(self._ordinal(o.expr), True), o.descending, o.nulls_first)
            for o in self.select.order_by
        )
        return QueryPlan(
            name=name,
            stream=self.stream.name,
            sink=sink,
            window=self.select.window,
            where=where,
            keys=tuple(self.keys),
            aggregates=tuple(self.calls.values()),
            outputs=outputs,
            having=having,
            order_by=ordering,
            limit=self.select.limit,
        )

    def _where(self) -> Scalar | None:
        expr = self.select.where
        if expr is None:
            return None
        tree = self.scope.resolve(expr)
        for node, function in aggregate_calls(tree):
            refuse(
                "E_AGGREGATE_IN_WHERE",
                f"aggregate {function} cannot stand in WHERE",
                hint="a condition on aggregates goes into HAVING",
                place=place_in(expr, node),
            )
        scalar = self._scalar(expr, tree)
        if scalar.type not in (BOOLEAN, VOID):
            refuse(
                "E_TYPE", f"WHERE is {scalar.type}, not BOOLEAN", place=expr.place, hint=_CONDITION
            )
        return scalar

    def _keys(self) -> list[Key]:
        keys: list[Key] = []
        for written in self.select.group_by:
            expr = self._ordinal(self._group_alias(written))
            tree = self.scope.resolve(expr).unnest()
            for node, function in aggregate_calls(tree):
                refuse(
                    "E_AGGREGATE_IN_GROUP_BY",
                    f"aggregate {function} cannot stand in GROUP BY",
                    place=place_in(expr, node),
                )
            scalar = self._scalar(expr, tree)
            if not scalar.type.is_atomic:
                refuse("E_TYPE", f"grouping by {scalar.type} is not built", place=expr.place)
            if all(key.scalar.sql != scalar.sql for key in keys):
                keys.append(Key(Slot(f"_k{len(keys)}", scalar.type), scalar))
        return keys

    def _group_alias(self, expr: Expr) -> Expr:
        tree = expr.tree
        plain = isinstance(tree, exp.Column) and not tree.table
        known = plain and tree.name.lower() in self.scope.columns
        return expr if not plain or known else self.aliases.get(tree.name.lower(), expr)

    def _ordinal(self, expr: Expr) -> Expr:
        """`GROUP BY 1` and `ORDER BY 1` name the select list by position, as in Spark."""
        tree = expr.tree
        if not isinstance(tree, exp.Literal) or tree.is_string:
            return expr
        count = len(self.select.items)
        if not tree.is_int or not 1 <= int(tree.name) <= count:
            refuse(
                "E_POSITION",
                f"position {tree.name} is not in the select list",
                detail=f"positions go from 1 to {count}",
                place=expr.place,
            )
        return self.select.items[int(tree.name) - 1].expr

    def _scalar(self, expr: Expr, tree: exp.Expr) -> Scalar:
        check_replayable(expr, tree)
        node = _typed(expr, tree, self.types, self.oracle)
        return Scalar(
            sql=to_sql(tree),
            try_sql=to_spark_sql(tree, self.types),
            type=node.type,
            columns=self.scope.columns_of(tree),
            raised_sql=raised_sql(tree, self.types),
            guarded=isinstance(node, Opaque) and needs_guard(tree, self.types),
        )

    def _outputs(self) -> tuple[Output, ...]:
        outputs = tuple(Output(_name(i), self._finish(i.expr)) for i in self.select.items)
        taken = {"window_start", "window_end"}
        for output, item in zip(outputs, self.select.items, strict=True):
            if output.name.startswith("_"):
                refuse(
                    "E_NAME",
                    f"answer column '{output.name}' begins with '_', which is kept for the engine",
                    place=item.expr.place,
                )
            if output.name.lower() in taken:
                refuse(
                    "E_DUPLICATE",
                    f"two answer columns would be called '{output.name}'",
                    hint="name one of them with AS; window_start and window_end are always there",
                    place=item.expr.place,
                )
            taken.add(output.name.lower())
        return outputs

    def _having(self) -> Node | None:
        expr = self.select.having
        if expr is None:
            return None
        node = self._finish(expr, True)
        if node.type not in (BOOLEAN, VOID):
            refuse(
                "E_TYPE", f"HAVING is {node.type}, not BOOLEAN", place=expr.place, hint=_CONDITION
            )
        return node

    def _refuse_filter(self, expr: Expr, tree: exp.Expr) -> None:
        if (node := tree.find(exp.Filter)) is not None:
            refuse(
                "E_NOT_BUILT",
                "FILTER (WHERE …) is not built yet",
                hint="write the condition into the argument: SUM(CASE WHEN condition THEN x END)",
                place=place_in(expr, node),
            )

    def _finish(self, expr: Expr, aliases: bool = False) -> Node:
        """An expression over slots: keys and aggregates take the place of their subtrees."""
        windows = frozenset(
            n for n in (WINDOW_START.name, WINDOW_END.name) if n not in self.scope.columns
        )
        names = frozenset(self.aliases) if aliases else frozenset()
        if aliases and self.select.having is expr:
            # HAVING filters rows of the stream's groups first: a column goes before an alias.
            names -= frozenset(self.scope.columns)
        tree = self.scope.resolve(expr, windows | names)
        if aliases:
            tree = self._substitute_aliases(tree, names)
        check_replayable(expr, tree)
        self._refuse_filter(expr, tree)
        tree = self._to_slots(expr, tree)
        slots = [*(k.slot for k in self.keys), *(c.slot for c in self.calls.values())]
        types = {slot.name.lower(): slot.type for slot in (*slots, WINDOW_START, WINDOW_END)}
        return _typed(expr, tree, types, self.oracle)

    def _substitute_aliases(self, tree: exp.Expr, names: frozenset[str]) -> exp.Expr:
        def swap(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and not node.table and node.name.lower() in names:
                replacement = self.scope.resolve(self.aliases[node.name.lower()])
                return replacement if node is tree else exp.Paren(this=replacement)
            return node

        return tree.transform(swap)

    def _to_slots(self, expr: Expr, node: exp.Expr) -> exp.Expr:
        text = to_sql(node.unnest())
        for key in self.keys:
            if key.scalar.sql == text:
                return exp.column(key.slot.name)
        for call, function in aggregate_calls(node):
            if call is node:
                return exp.column(self._call(expr, call, function).slot.name)
            break
        if isinstance(node, exp.Column) and node.name.lower() in self.scope.columns:
            self._refuse_ungrouped(expr, node)
        for child in list(node.iter_expressions()):
            child.replace(self._to_slots(expr, child))
        return node

    def _refuse_ungrouped(self, expr: Expr, column: exp.Column) -> None:
        grouped = [key.scalar.sql for key in self.keys]
        refuse(
            "E_UNGROUPED",
            f"column '{column.name}' is neither grouped nor inside an aggregate",
            detail=listing("grouped by", grouped),
            hint=f"add {column.name} to GROUP BY, or take MIN({column.name}) or the like",
            place=place_in(expr, column),
        )

    def _call(self, expr: Expr, node: exp.Expr, function: str) -> AggregateCall:
        place = place_in(expr, node)
        aggregates.refuse_unbuilt(function, place)
        argument = self._argument(expr, node, function)
        sql = f"{function}({argument.sql if argument else '*'})"
        if sql not in self.calls:
            result = aggregates.result_type(function, argument.type if argument else None, place)
            slot = Slot(f"_a{len(self.calls)}", result)
            self.calls[sql] = AggregateCall(slot, function, argument)
        return self.calls[sql]

    def _argument(self, expr: Expr, node: exp.Expr, function: str) -> Scalar | None:
        arguments = node.expressions or ([node.this] if isinstance(node.this, exp.Expr) else [])
        if len(arguments) != 1:
            refuse(
                "E_ARGUMENTS",
                f"{function} takes one argument, not {len(arguments)}",
                place=place_in(expr, node),
            )
        tree = arguments[0].unnest()
        if isinstance(tree, exp.Star):
            if function != "COUNT":
                refuse("E_ARGUMENTS", f"{function}(*) means nothing", place=place_in(expr, node))
            return None
        if isinstance(tree, exp.Distinct):
            refuse(
                "E_NOT_BUILT",
                f"{function}(DISTINCT …) is not built yet",
                hint="GROUP BY the argument gives one row for each of its values",
                place=expr.place,
            )
        for inner, name in aggregate_calls(tree):
            refuse(
                "E_NESTED_AGGREGATE",
                f"aggregate {name} stands inside {function}",
                hint="an aggregate takes columns and expressions over them; take one of the two",
                place=place_in(expr, inner),
            )
        return self._cast_argument(expr, tree, function)

    def _cast_argument(self, expr: Expr, tree: exp.Expr, function: str) -> Scalar | None:
        if function == "COUNT" and isinstance(tree, exp.Literal | exp.Boolean):
            return None  # COUNT(1) counts rows, as COUNT(*) does
        scalar = self._scalar(expr, tree)
        if cast := aggregates.cast_argument(function, scalar.type):
            return self._scalar(expr, exp.cast(tree.copy(), cast.sql, dialect="spark"))
        return scalar


def _typed(expr: Expr, tree: exp.Expr, types: dict[str, Type], oracle: TypeOracle) -> Node:
    """Type an expression; a refusal without a place gets the expression's own."""
    from dataclasses import replace

    from tidemill.errors import TidemillError

    try:
        return type_expression(tree, types, oracle)
    except TidemillError as error:
        if error.problem.place is not None:
            raise
        raise TidemillError(replace(error.problem, place=expr.place)) from None


def _name(item: SelectItem) -> str:
    """The alias, the column's own name, or the text, lower-cased as Spark does for calls."""
    if item.alias:
        return item.alias
    tree = item.expr.tree
    if isinstance(tree, exp.Column):
        return str(tree.name)
    return item.expr.sql.lower().replace("count(*)", "count(1)")
