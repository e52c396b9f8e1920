"""Statement + stream ⇒ plan: what the clauses of a query mean together, or why they cannot."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import NoReturn

from sqlglot import exp

from tidemill.catalog import Stream, Table
from tidemill.catalog.names import Name
from tidemill.errors import Place, listing, refuse, suggest
from tidemill.language.expressions.trees import to_sql
from tidemill.language.statements import Expr, Select, SelectItem
from tidemill.plan.bind.calls import CallBinder
from tidemill.plan.bind.clauses import check_condition, refuse_aggregates
from tidemill.plan.bind.entries import stream_entry
from tidemill.plan.bind.joins import bind_joins
from tidemill.plan.bind.scalars import ScalarBinder, type_placed
from tidemill.plan.bind.scope import Scope, check_replayable, function_name, in_own_words, place_in
from tidemill.plan.expressions import Call, Node, Slot
from tidemill.plan.functions import Signatures
from tidemill.plan.predicates import Predicate, canonical
from tidemill.plan.predicates.domains import compared
from tidemill.plan.predicates.predicate import where as only_where
from tidemill.plan.query import WINDOW_END, WINDOW_START, Key, Ordering, Output, QueryPlan
from tidemill.plan.relation import Relation, Source
from tidemill.plan.scalar import Scalar
from tidemill.plan.typing import TypeOracle
from tidemill.types import BOOLEAN, Type

_BOUNDS = frozenset((WINDOW_START.name, WINDOW_END.name))
# The share of rows behind an answer that were estimated: a sketch knows all of them, or none.
_ESTIMATED = "estimated"


def bind(
    name: str,
    sink: str | None,
    select: Select,
    stream: Stream,
    oracle: TypeOracle,
    signatures: Signatures,
    tables: tuple[Table, ...] = (),
) -> QueryPlan:
    """The plan of one query over one stream.

    `signatures` are those of the aggregates it may call, `tables` those of its joins, in order.
    """
    alone = Scope((stream_entry(select, stream),), signatures, stream.time_column)
    scope, relation = bind_joins(alone, source_of(stream), select.joins, tables, oracle)
    with in_own_words(scope):
        return _Binder(select, scope, relation, oracle).plan(name, sink)


def source_of(stream: Stream) -> Source:
    """A stream as a relation."""
    return Source(Name(stream.name), tuple(Slot(c.name, c.type) for c in stream.columns))


class _Binder:
    """Slots are found in the order keys, SELECT, HAVING, ORDER BY; equal calls share one."""

    def __init__(
        self, select: Select, scope: Scope, relation: Relation, oracle: TypeOracle
    ) -> None:
        self._select, self._scope, self._oracle = select, scope, oracle
        self._relation = relation
        self._scalars = ScalarBinder(scope, oracle)
        self._aliases = {Name(i.alias): i.expr for i in select.items if i.alias}
        self._keys: list[Key] = []
        self._calls = CallBinder(self._scalars, select.window)

    def plan(self, name: str, sink: str | None) -> QueryPlan:
        where = self._where()
        self._keys = self._group_keys()
        outputs = self._outputs()
        having = self._having()
        order_by = self._order_by()
        return QueryPlan(
            name=name,
            relation=self._relation,
            sink=sink,
            window=self._select.window,
            where=where,
            predicate=self._predicate(where),
            keys=tuple(self._keys),
            aggregates=self._calls.calls,
            outputs=outputs,
            having=having,
            order_by=order_by,
            limit=self._select.limit,
        )

    def _predicate(self, where: Scalar | None) -> Predicate:
        """The rows that count: those that pass WHERE and have the partners they must have."""
        inner = (join.partner for join in self._relation.joins if join.kind == "inner")
        partners = (only_where(slot, compared("eq", True, BOOLEAN)) for slot in inner)
        return reduce(Predicate.__and__, partners, canonical(where, self._types))

    @property
    def _types(self) -> dict[str, Type]:
        return {column.name: column.type for column in self._scope.columns.values()}

    def _where(self) -> Scalar | None:
        expr = self._select.where
        if expr is None:
            return None
        tree = self._scope.resolve(expr)
        hint = "a condition on aggregates goes into HAVING"
        refuse_aggregates("WHERE", expr, tree, self._scope.aggregates, hint)
        scalar = self._scalars.bind(expr, tree)
        check_condition("WHERE", scalar.type, expr.place)
        return scalar

    def _group_keys(self) -> list[Key]:
        keys: list[Key] = []
        for written in self._select.group_by:
            scalar = self._group_scalar(self._ordinal(self._group_alias(written)))
            if all(key.scalar.sql != scalar.sql for key in keys):
                keys.append(Key(Slot(f"_k{len(keys)}", scalar.type), scalar))
        return keys

    def _group_alias(self, expr: Expr) -> Expr:
        tree = expr.tree
        plain = isinstance(tree, exp.Column) and not tree.table
        known = plain and Name(tree.name) in self._scope.unqualified
        return expr if not plain or known else self._aliases.get(Name(tree.name), expr)

    def _group_scalar(self, expr: Expr) -> Scalar:
        tree = self._scope.resolve(expr).unnest()
        refuse_aggregates("GROUP BY", expr, tree, self._scope.aggregates)
        scalar = self._scalars.bind(expr, tree)
        if not scalar.type.is_atomic:
            refuse("E_TYPE", f"grouping by {scalar.type} is not built", place=expr.place)
        return scalar

    def _ordinal(self, expr: Expr) -> Expr:
        """`GROUP BY 1` and `ORDER BY 1` name the select list by position, as in Spark."""
        tree = expr.tree
        if not isinstance(tree, exp.Literal) or tree.is_string:
            return expr
        count = len(self._select.items)
        if not tree.is_int or not 1 <= int(tree.name) <= count:
            refuse(
                "E_POSITION",
                f"position {tree.name} is not in the select list",
                detail=f"positions go from 1 to {count}",
                place=expr.place,
            )
        return self._select.items[int(tree.name) - 1].expr

    def _outputs(self) -> tuple[Output, ...]:
        outputs: list[Output] = []
        names = set(_BOUNDS)
        for item in self._select.items:
            for output in self._item(item):
                _check_output_name(output.name, names, item.expr.place)
                names.add(Name(output.name))
                outputs.append(output)
        if estimated := self._calls.estimated():
            _check_output_name(_ESTIMATED, names, self._select.items[0].expr.place)
            outputs.append(Output(_ESTIMATED, reduce(_larger, estimated)))
        return tuple(outputs)

    def _item(self, item: SelectItem) -> Iterator[Output]:
        """The column that is asked for, and those that tell how good it is."""
        output = Output(_output_name(item), self._finish(item.expr))
        yield output
        for part, slot in self._calls.parts(output.node):
            yield Output(f"{output.name}_{part}", slot)

    def _having(self) -> Node | None:
        expr = self._select.having
        if expr is None:
            return None
        # HAVING filters rows of the stream's groups first: a column goes before an alias.
        node = self._finish(expr, frozenset(self._aliases) - self._scope.unqualified)
        check_condition("HAVING", node.type, expr.place)
        return node

    def _order_by(self) -> tuple[Ordering, ...]:
        return tuple(
            Ordering(self._order_node(item.expr), item.descending, item.nulls_first)
            for item in self._select.order_by
        )

    def _order_node(self, expr: Expr) -> Node:
        node = self._finish(self._ordinal(expr), frozenset(self._aliases))
        if not node.type.is_atomic:
            refuse(
                "E_TYPE",
                f"ordering by {node.type} is not built",
                hint="order by a plain value, as COUNT(*)",
                place=expr.place,
            )
        return node

    def _finish(self, expr: Expr, aliases: frozenset[str] = frozenset()) -> Node:
        """An expression over slots: keys and aggregates take the place of their subtrees."""
        bounds = _BOUNDS - self._scope.unqualified
        tree = self._scope.resolve(expr, bounds | aliases)
        tree = self._substitute_aliases(tree, aliases)
        check_replayable(expr, tree)
        _refuse_filter(expr, tree)
        tree = self._to_slots(expr, tree)
        slots = (*(k.slot for k in self._keys), *(c.slot for c in self._calls.calls))
        types = {slot.name: slot.type for slot in (*slots, WINDOW_START, WINDOW_END)}
        return type_placed(expr, tree, types, self._oracle)

    def _substitute_aliases(self, tree: exp.Expr, aliases: frozenset[str]) -> exp.Expr:
        def swap(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and not node.table and Name(node.name) in aliases:
                return exp.Paren(this=self._scope.resolve(self._aliases[Name(node.name)]))
            return node

        return tree.transform(swap) if aliases else tree

    def _to_slots(self, expr: Expr, node: exp.Expr) -> exp.Expr:
        text = to_sql(node.unnest())
        for key in self._keys:
            if key.scalar.sql == text:
                return exp.column(key.slot.name)
        name = function_name(node)
        if name and (function := self._scope.aggregates.canonical(name)):
            return exp.column(self._calls.bind(expr, node, function).slot.name)
        if isinstance(node, exp.Column) and Name(node.name) in self._scope.columns:
            self._refuse_ungrouped(expr, node)
        for child in list(node.iter_expressions()):
            child.replace(self._to_slots(expr, child))
        return node

    def _refuse_ungrouped(self, expr: Expr, column: exp.Column) -> NoReturn:
        grouped = [key.scalar.sql for key in self._keys]
        hint = f"add {column.name} to GROUP BY, or take MIN({column.name}) or the like"
        around = column.find_ancestor(exp.Anonymous)
        if around is not None and (guess := suggest(around.name, self._scope.aggregates.names)):
            # SMU(length) is more likely a slip of the pen than a function over a lone column.
            hint = f"{around.name.upper()} is no aggregate; {guess}"
        refuse(
            "E_UNGROUPED",
            f"column '{column.name}' is neither grouped nor inside an aggregate",
            detail=listing("grouped by", grouped),
            hint=hint,
            place=place_in(expr, column),
        )


def _larger(left: Node, right: Node) -> Node:
    return Call("case", (Call("gt", (left, right), BOOLEAN), left, right), left.type)


def _check_output_name(name: str, names: set[str], place: Place | None) -> None:
    if name.startswith("_"):
        refuse(
            "E_NAME",
            f"answer column '{name}' begins with '_', which is kept for the engine",
            place=place,
        )
    if Name(name) in names:
        refuse(
            "E_DUPLICATE",
            f"two answer columns would be called '{name}'",
            hint="name one of them with AS; window_start and window_end are always there",
            place=place,
        )


def _refuse_filter(expr: Expr, tree: exp.Expr) -> None:
    if (node := tree.find(exp.Filter)) is not None:
        refuse(
            "E_NOT_BUILT",
            "FILTER (WHERE …) is not built yet",
            hint="write the condition into the argument: SUM(CASE WHEN condition THEN x END)",
            place=place_in(expr, node),
        )


def _output_name(item: SelectItem) -> str:
    """The alias, the column's own name, or the text, lower-cased as Spark does for calls."""
    if item.alias:
        return item.alias
    tree = item.expr.tree
    if isinstance(tree, exp.Column):
        return str(tree.name)
    return item.expr.sql.lower().replace("count(*)", "count(1)")
