"""Plans and texts that earlier releases have written, brought into the form of this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from tidemill.aggregates import Lane
from tidemill.catalog import Catalog
from tidemill.engine.register.plan_json import to_plain
from tidemill.language.expressions.trees import to_sql
from tidemill.language.statements import (
    CreateQuery,
    CreateStream,
    CreateTable,
    Definition,
    Expr,
    SelectItem,
)
from tidemill.plan.bind.branch import source_of
from tidemill.plan.bind.clauses import column_name
from tidemill.plan.bind.scope import function_name
from tidemill.plan.expressions import Slot, TableColumn
from tidemill.plan.joins import Join
from tidemill.plan.predicates.canonical import restate_predicate
from tidemill.plan.relation import join_all, source_name
from tidemill.plan.scalars import restate
from tidemill.state.synopsis import KeptLane, Synopsis
from tidemill.types import Type

# Fields of a synopsis that had another name.
_RENAMED = {"kept": "kept_lanes"}
# What left NULLs out without being told to.
_OUTERMOST = frozenset(("FIRST", "FIRST_VALUE", "LAST", "LAST_VALUE"))


def ignoring_nulls(catalog: Catalog) -> Catalog:
    """The catalog of a home in which FIRST and LAST leave NULLs out: queries say so now.

    Their answers go on as they were, under the names that their columns have had.
    """
    queries = {name: _ignoring(item) for name, item in catalog.definitions["query"].items()}
    return replace(catalog, definitions={**catalog.definitions, "query": queries})


def _ignoring(definition: Definition) -> Definition:
    assert isinstance(definition, CreateQuery)
    select = definition.select
    having = select.having and _known_only(select.having)
    order_by = (replace(item, expr=_known_only(item.expr)) for item in select.order_by)
    items = tuple(map(_item, select.items))
    changed = replace(select, items=items, having=having, order_by=tuple(order_by))
    return replace(definition, select=changed)


def _item(item: SelectItem) -> SelectItem:
    expr = _known_only(item.expr)
    return item if expr == item.expr else SelectItem(expr, column_name(item))


def _known_only(expr: Expr) -> Expr:
    def told(node: exp.Expr) -> exp.Expr:
        return exp.IgnoreNulls(this=node) if function_name(node) in _OUTERMOST else node

    return Expr(to_sql(expr.tree.transform(told)))


def with_relation(synopsis: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """A synopsis as JSON; one that names a stream and its joins gets the relation they make."""
    if "relation" in synopsis:
        return synopsis
    body = {
        _RENAMED.get(name, name): item
        for name, item in synopsis.items()
        if name not in ("stream", "joins")
    }
    relation = to_plain(source_of(catalog.stream(synopsis["stream"])))
    for join in synopsis["joins"]:
        relation = {"is": "TableJoin", "over": relation, "join": _with_columns(join, catalog)}
    return {**body, "relation": relation}


def restate_synopsis(synopsis: Synopsis, catalog: Catalog) -> Synopsis:
    """With the texts that its expressions have now, so that queries find in it what is theirs."""
    stream = catalog.definition("stream", source_name(synopsis.relation))
    # A stream may have more columns by now, and queries of today read those.
    declared = stream.columns if isinstance(stream, CreateStream) else ()
    types = {
        **{column.name: column.type for column in declared},
        **{slot.name: slot.type for slot in synopsis.relation.columns},
    }
    joins = (_restated_join(join, types) for join in synopsis.relation.joins)
    return replace(
        synopsis,
        relation=join_all(synopsis.relation.base, joins),
        keys=tuple(replace(key, scalar=restate(key.scalar, types)) for key in synopsis.keys),
        kept_lanes=_restated_lanes(synopsis.kept_lanes, types),
        bits=tuple(
            replace(bit, predicate=restate_predicate(bit.predicate, types)) for bit in synopsis.bits
        ),
    )


def _restated_join(join: Join, types: Mapping[str, Type]) -> Join:
    return replace(
        join,
        equal=tuple((restate(one, types), restate(two, types)) for one, two in join.equal),
        residual=restate(join.residual, types) if join.residual else None,
    )


def _restated_lanes(lanes: Iterable[KeptLane], types: Mapping[str, Type]) -> tuple[KeptLane, ...]:
    """Of lanes that have become equal the one that is complete for longest."""
    by_lane: dict[Lane, KeptLane] = {}
    for stored in lanes:
        restated = replace(stored, lane=_restated_lane(stored.lane, types))
        other = by_lane.get(restated.lane, restated)
        by_lane[restated.lane] = min(other, restated, key=lambda each: each.since_us)
    return tuple(by_lane.values())


def _restated_lane(lane: Lane, types: Mapping[str, Type]) -> Lane:
    argument = restate(lane.argument, types) if lane.argument else None
    return replace(lane, argument=argument, others=tuple(restate(o, types) for o in lane.others))


def _with_columns(join: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """A join may outlive the declaration of its table, and then has no names for the columns."""
    table = catalog.definition("table", join["table"])
    columns = table.columns if isinstance(table, CreateTable) else ()
    slots = [Slot(TableColumn(join["name"], c.name).name, c.type) for c in columns]
    return {**join, "columns": to_plain(tuple(slots))}
