"""Statement + stream ⇒ plan: what the clauses of a query mean together, or why they cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial, reduce
from typing import NoReturn

from sqlglot import exp

from tidemill.catalog import Catalog, Stream, Table
from tidemill.catalog.options import priority_of
from tidemill.errors import listing, refuse, suggest
from tidemill.language.names import Name
from tidemill.language.statements import CreateQuery, Expr, SelectItem
from tidemill.plan.bind.branch import (
    Branch,
    joins_met,
    source_branch,
    source_of,
    tree_over,
    where_over,
)
from tidemill.plan.bind.calls import CallBinder, called
from tidemill.plan.bind.clauses import (
    ScalarBinder,
    check_condition,
    check_delta,
    check_emit,
    check_output_name,
    column_name,
    predicate_of,
    refuse_aggregates,
    type_placed,
    with_updates,
)
from tidemill.plan.bind.distinct import (
    check_comparable,
    check_distinct_order,
    grouped_by_list,
)
from tidemill.plan.bind.environment import Environment, Memo
from tidemill.plan.bind.joined.wholes import bind_window_join
from tidemill.plan.bind.parts import bind_parts, row_query_of
from tidemill.plan.bind.row_queries import RowBinder
from tidemill.plan.bind.scope import (
    Scope,
    check_replayable,
    function_name,
    in_own_words,
    place_in,
    refuse_filter,
    written_name,
)
from tidemill.plan.bind.streams import bound_stream, query_scope
from tidemill.plan.expressions import Call, Node, Scalar, Slot
from tidemill.plan.joins import JoinTerms
from tidemill.plan.predicates import Predicate
from tidemill.plan.query import (
    AS_OF,
    REVISION,
    WINDOW_END,
    WINDOW_START,
    WITHDRAWN,
    AggregateCall,
    Key,
    Ordering,
    Output,
    QueryPlan,
)
from tidemill.plan.relation import join_all
from tidemill.plan.row_query import AnyQuery, RowQuery
from tidemill.types import BOOLEAN

_BOUNDS = frozenset((WINDOW_START.name, WINDOW_END.name))
# The share of rows behind an answer that were estimated: a sketch knows all of them, or none.
_ESTIMATED = "estimated"
_NAMED_TWICE = "name one of them with AS; window_start and window_end are always there"
_NAMED_AS_OF = "as_of with EMIT EVERY"
_NAMED_REVISION = "revision and withdrawn over a stream WITH (correct = …)"


def bind_query(query: CreateQuery, catalog: Catalog, environment: Environment) -> AnyQuery:
    """The plan of a query whose sink, stream and tables a catalog declares."""
    if query.into is not None:
        catalog.sink(query.into, query.into_place)
    if query.select.joins_windows:
        return bind_window_join(query, catalog, environment, _bind_whole)
    stream = bound_stream(query.select.stream, catalog, environment, query.select.stream_place)
    tables = tuple(catalog.table(join.name, join.place) for join in query.select.joins)
    if query.select.window is None:
        rows = bind_rows(query, stream.face, environment, tables)
        if not stream.is_union:
            return rows
        parts = [bind_rows(query, branch, environment, tables) for branch in stream.branches]
        return row_query_of(rows, stream, parts)
    plan = bind_over(query, stream.face, environment, tables)
    return bind_parts(query, plan, stream, environment, tables) if stream.is_union else plan


def bind(
    query: CreateQuery, stream: Stream, environment: Environment, tables: tuple[Table, ...] = ()
) -> QueryPlan:
    """The plan of a query over windows of a stream with rows of its own."""
    branch = environment.memo.recall(("branch", stream), lambda: source_branch(stream))
    return bind_over(query, branch, environment, tables)


def bind_over(
    query: CreateQuery, branch: Branch, environment: Environment, tables: tuple[Table, ...] = ()
) -> QueryPlan:
    """The same over a branch; `tables` are those of the query's joins, in order."""
    query = replace(query, select=with_updates(query.select, branch.source))
    scope, joins, memo = query_scope(query, branch, environment, tables)
    with in_own_words(scope):
        memo = Memo() if joins else memo
        return _Binder(query, scope, branch, joins, environment, memo).plan(tables)


def _bind_whole(
    query: CreateQuery, scope: Scope, branch: Branch, environment: Environment, memo: Memo
) -> QueryPlan:
    return _Binder(query, scope, branch, (), environment, memo).plan(())


def bind_rows(
    query: CreateQuery, branch: Branch, environment: Environment, tables: tuple[Table, ...] = ()
) -> RowQuery:
    """The plan of a query over the rows of a branch."""
    scope, joins, _ = query_scope(query, branch, environment, tables)
    with in_own_words(scope):
        scalars = ScalarBinder(scope, environment.type_of)
        return RowBinder(query, branch, scalars, joins, environment.extent_of).plan(tables)


class _Binder:
    """Slots are found in the order keys, SELECT, HAVING, ORDER BY; equal calls share one.

    Many queries differ in a few of their expressions: what others have bound is recalled.
    """

    def __init__(
        self,
        query: CreateQuery,
        scope: Scope,
        branch: Branch,
        joins: tuple[JoinTerms, ...],
        environment: Environment,
        memo: Memo,
    ) -> None:
        self._memo = memo  # of this scope
        self._query, self._select = query, query.select
        if query.select.distinct:
            self._select = grouped_by_list(query.select, scope, _BOUNDS)
        self._branch, self._joins = branch, joins
        self._scope, self._environment = scope, environment
        self._scalars = ScalarBinder(scope, environment.type_of)
        self._aliases = {Name(i.alias): i.expr for i in query.select.items if i.alias}
        self._keys: list[Key] = []
        assert query.select.window is not None
        self._window = query.select.window
        self._calls = CallBinder(self._scalars, self._window)

    def plan(self, tables: tuple[Table, ...]) -> QueryPlan:
        check_emit(self._select, self._window)
        check_delta(self._select, self._branch.source)
        where = self._where()
        self._keys = self._group_keys()
        outputs = self._outputs()
        if self._select.delta or self._select.distinct:
            check_comparable(self._select, outputs)
        having = self._having()
        order_by = self._order_by(outputs)
        priority = priority_of(self._query)
        clauses, extent_of = self._select.joins, self._environment.extent_of
        joins = joins_met(self._branch, self._joins, tables, clauses, extent_of)
        return QueryPlan(
            name=self._query.name,
            relation=join_all(source_of(self._branch.source), joins.values()),
            tree=tree_over(self._branch, self._joins, joins),
            sink=self._query.into,
            window=self._window,
            where=where,
            predicate=self._predicate(where, joins),
            keys=tuple(self._keys),
            aggregates=self._calls.calls,
            outputs=outputs,
            having=having,
            order_by=order_by,
            limit=self._select.limit,
            priority=priority,
            emit=self._select.emit,
            delta=self._select.delta,
            distinct=self._select.distinct,
        )

    def _predicate(self, where: Scalar | None, joins: Iterable[JoinTerms]) -> Predicate:
        question = ("predicate", where.sql if where else "", *(join.name for join in joins))
        return self._memo.recall(question, lambda: predicate_of(where, joins, self._scalars.types))

    def _where(self) -> Scalar | None:
        """The condition of the query, and before it those of the streams that it reads."""
        expr, hint = self._select.where, "a condition on aggregates goes into HAVING"
        return self._memo.recall(
            ("where", expr.sql if expr else None),
            partial(where_over, self._branch, self._scalars, expr, hint),
        )

    def _group_keys(self) -> list[Key]:
        keys: list[Key] = []
        for written in self._select.group_by:
            expr = self._ordinal(self._group_alias(written))
            scalar = self._memo.recall(("key", expr.sql), partial(self._group_scalar, expr))
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
        outputs, hint = list[Output](), _NAMED_TWICE
        if self._select.emit.every_us:
            outputs.append(Output(AS_OF.name, AS_OF))
            hint += f", and {_NAMED_AS_OF}"
        if self._branch.source.correct_us and not self._select.is_soft:
            outputs += [Output(slot.name, slot) for slot in (REVISION, WITHDRAWN)]
            hint += f", and {_NAMED_REVISION}"
        names = {*_BOUNDS, *(Name(output.name) for output in outputs)}
        for item in self._select.items:
            for output in self._item(item):
                check_output_name(output.name, names, item.expr.place, hint)
                names.add(Name(output.name))
                outputs.append(output)
        if estimated := self._calls.estimated():
            check_output_name(_ESTIMATED, names, self._select.items[0].expr.place, hint)
            outputs.append(Output(_ESTIMATED, reduce(_larger, estimated)))
        return tuple(outputs)

    def _item(self, item: SelectItem) -> Iterator[Output]:
        """The column that is asked for, and those that tell how good it is."""
        output = Output(column_name(item), self._finish(item.expr))
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

    def _order_by(self, outputs: tuple[Output, ...]) -> tuple[Ordering, ...]:
        return tuple(
            Ordering(self._order_node(item.expr, outputs), item.descending, item.nulls_first)
            for item in self._select.order_by
        )

    def _order_node(self, expr: Expr, outputs: tuple[Output, ...]) -> Node:
        node = self._finish(self._ordinal(expr), frozenset(self._aliases))
        if self._query.select.distinct:
            check_distinct_order(node, outputs, expr.place)
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
        before = tuple(call.sql for call in self._calls.calls)
        keys = tuple(key.scalar.sql for key in self._keys)
        named = tuple((alias, self._aliases[Name(alias)].sql) for alias in sorted(aliases))
        texts = (expr.sql, *(sql for _, sql in named))
        window = self._window if any(map(self._by_window, texts)) else None
        question = (expr.sql, named, keys, before, window)
        node, calls = self._memo.recall(question, partial(self._finish_anew, expr, aliases))
        self._calls.add(calls)
        return node

    def _by_window(self, text: str) -> bool:
        """True if a text may call a function that has another meaning in another window."""
        return any(name in text for name in self._scope.aggregates.by_subwindow)

    def _finish_anew(
        self, expr: Expr, aliases: frozenset[str]
    ) -> tuple[Node, tuple[AggregateCall, ...]]:
        """The node, and the calls that came with it."""
        before = len(self._calls.calls)
        node = self._over_slots(expr, aliases)
        return node, self._calls.calls[before:]

    def _over_slots(self, expr: Expr, aliases: frozenset[str]) -> Node:
        bounds = _BOUNDS - self._scope.unqualified
        tree = self._scope.resolve(expr, bounds | aliases)
        tree = self._substitute_aliases(tree, aliases)
        check_replayable(expr, tree)
        refuse_filter(expr, tree)
        tree = self._to_slots(expr, tree)
        slots = (*(k.slot for k in self._keys), *(c.slot for c in self._calls.calls))
        types = {slot.name: slot.type for slot in (*slots, WINDOW_START, WINDOW_END)}
        return type_placed(expr, tree, types, self._environment.type_of)

    def _substitute_aliases(self, tree: exp.Expr, aliases: frozenset[str]) -> exp.Expr:
        def swap(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and not node.table and Name(node.name) in aliases:
                return exp.Paren(this=self._scope.resolve(self._aliases[Name(node.name)]))
            return node

        return tree.transform(swap) if aliases else tree

    def _to_slots(self, expr: Expr, node: exp.Expr) -> exp.Expr:
        if (key := self._key_of(node)) is not None:
            return exp.column(key.slot.name)
        name = function_name(called(node))
        if name and (function := self._scope.aggregates.canonical(name)):
            return exp.column(self._calls.bind(expr, node, function).slot.name)
        if column := self._column_name(node):
            self._refuse_ungrouped(expr, node, column)
        for child in list(node.iter_expressions()):
            child.replace(self._to_slots(expr, child))
        return node

    def _column_name(self, node: exp.Expr) -> str:
        """The column that a node is, as the query calls it; empty if it is none."""
        if isinstance(node, exp.Column) and Name(node.name) in self._scope.columns:
            return written_name(node) or str(node.name)
        return written_name(node)

    def _key_of(self, node: exp.Expr) -> Key | None:
        """The key that a tree is, however it is written."""
        names = {Name(column.name) for column in node.find_all(exp.Column)}
        keys = [key for key in self._keys if set(map(Name, key.scalar.names)) == names]
        text = self._scalars.normal_text(node) if keys else ""
        return next((key for key in keys if key.scalar.sql == text), None)

    def _refuse_ungrouped(self, expr: Expr, node: exp.Expr, column: str) -> NoReturn:
        around = node.find_ancestor(exp.Anonymous)
        if around is not None and (guess := suggest(around.name, self._scope.aggregates.names)):
            # SMU(length) is more likely a slip of the pen than a function over a lone column.
            refuse(
                "E_UNKNOWN_AGGREGATE",
                f"no aggregate '{around.name}'",
                detail=listing("aggregates", self._scope.aggregates.names),
                hint=guess,
                place=place_in(expr, around),
            )
        refuse(
            "E_UNGROUPED",
            f"column '{column}' is neither grouped nor inside an aggregate",
            detail=listing("grouped by", [key.scalar.sql for key in self._keys]),
            hint=self._hint_of_ungrouped(column),
            place=place_in(expr, node),
        )

    def _hint_of_ungrouped(self, column: str) -> str:
        if self._select is not self._query.select:
            return f"SELECT DISTINCT groups by what it selects; add {column} to the list"
        return f"add {column} to GROUP BY, or take MIN({column}) or the like"


def _larger(left: Node, right: Node) -> Node:
    return Call("case", (Call("gt", (left, right), BOOLEAN), left, right), left.type)
