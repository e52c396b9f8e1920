"""EXPLAIN PLAN: what a query means, and who evaluates which part of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemill.durations import render_duration
from tidemill.explain import phrases
from tidemill.explain.meeting import meeting_lines, row_meeting_lines
from tidemill.language.names import answered_by
from tidemill.language.render import render_emit
from tidemill.language.statements import Window
from tidemill.plan.expressions import Node, Scalar, is_vectorised
from tidemill.plan.joins import in_users_words
from tidemill.plan.query import Ordering, QueryPlan
from tidemill.plan.relation import JoinedWindows, Relation, Source, TableJoin
from tidemill.plan.row_join import RowJoin
from tidemill.plan.row_query import AnyQuery, RowQuery
from tidemill.plan.window_join import in_words_of_items


def explain_plan(plan: AnyQuery) -> str:
    """One line per part, in the order a row travels; columns of tables in the query's words."""
    lines = list(_row_lines(plan)) if isinstance(plan, RowQuery) else _lines(plan)
    joins = [join for part in plan.by_source for join in part.relation.joins]
    text = in_users_words("\n".join(lines), joins)
    tree = plan.tree
    return in_words_of_items(text, tree.names) if isinstance(tree, JoinedWindows) else text


def _row_lines(plan: RowQuery) -> Iterator[str]:
    yield _title(plan)
    yield from _trees(plan)
    if plan.join is not None:
        yield from _row_join(plan, plan.join)
    if plan.where:
        yield f"  where      {_scalar(plan.where)}"
    for column in plan.columns:
        yield f"  output     {column.name} {column.scalar.type} = {_scalar(column.scalar)}"
    yield f"  leaves     {phrases.leaving(plan)}"


def _lines(plan: QueryPlan) -> list[str]:
    lines = [_title(plan)]
    lines += _trees(plan)
    lines += _joined(plan)
    lines.append(f"  window     {window_clause(plan.window)}")
    if not plan.emit.is_default:
        lines.append(f"  emit       {render_emit(plan.emit)}")
    if plan.delta:
        lines.append(f"  delivers   {plan.delta}: {phrases.DELTAS[plan.delta]}")
    if plan.where:
        lines.append(f"  where      {_scalar(plan.where)}")
    lines += [f"  group by   {k.slot.name} {k.slot.type} = {_scalar(k.scalar)}" for k in plan.keys]
    lines += [f"  aggregate  {a.slot.name} {a.slot.type} = {a.sql}" for a in plan.aggregates]
    lines += [f"  output     {o.name} {o.node.type} = {_node(o.node)}" for o in plan.outputs]
    if plan.having is not None:
        lines.append(f"  having     {_node(plan.having)}")
    if plan.distinct:
        lines.append("  distinct   of rows of an answer that are equal the first alone")
    lines += [f"  order by   {_ordering(ordering)}" for ordering in plan.order_by]
    if plan.limit is not None:
        ties = ", ".join(key.scalar.sql for key in plan.keys) or "nothing else"
        lines.append(f"  limit      {plan.limit} per window, ties broken by {ties}")
    return lines


def _title(plan: AnyQuery) -> str:
    """The query and where its answers go; those of a stream become rows of its readers."""
    if answered_by(plan.name):
        return f"{plan.name} → who reads it"
    return f"query {plan.name} → {plan.sink or 'default sink'}"


def window_clause(window: Window) -> str:
    start = f" START {_signed(window.start_us)}" if window.start_us else ""
    ranges = ", ".join(map(render_duration, window.ranges_us))
    if window.is_soft and not window.slide_us:
        return f"[RANGE {ranges}]"
    up_to = "UP TO " if window.is_soft else ""
    return f"[RANGE {ranges} SLIDE {up_to}{render_duration(window.slide_us)}{start}]"


def _signed(start_us: int) -> str:
    return ("-" if start_us < 0 else "") + render_duration(abs(start_us))


def _trees(plan: AnyQuery) -> Iterator[str]:
    """What is read; of a union its branches, and what the query comes to in each."""
    if not plan.parts:
        yield from _tree(plan.tree)
        return
    if plan.join is not None:
        yield from _tree(plan.tree)
        return
    yield f"  {'from':<11}{plan.tree.title}"
    parts: tuple[AnyQuery, ...] = plan.parts
    for number, part in enumerate(parts, start=1):
        label = f"branch {number}"
        for depth, node in part.tree.walk():
            note = "   (Catalyst, broadcast)" if isinstance(node, TableJoin) else ""
            yield f"  {'' if depth else label:<11}{'  ' * depth}{node.title}{note}"
        for line in _said_there(part):
            yield f"  {'':<13}{line}"


def _joined(plan: QueryPlan) -> Iterator[str]:
    """How windows meet, and what the query comes to in each of them."""
    if plan.join is None:
        return
    yield from meeting_lines(plan, plan.join)
    for side in plan.join.sides:
        yield from _sides(side.name, [plan.parts[number] for number in side.parts])


def _row_join(plan: RowQuery, join: RowJoin) -> Iterator[str]:
    """How rows meet, what is held of each side, and what a result is made of."""
    yield from row_meeting_lines(plan, join)
    for side in join.sides:
        yield from _sides(side.name, [plan.parts[number] for number in side.parts])
    for slot in join.slots:
        first = join.sides[slot.side]
        text = plan.parts[first.parts[0]].columns[slot.column].scalar.sql
        yield f"  {'value':<11}{slot.slot.name} {slot.slot.type} = {text} of {first.name}"
    yield from (f"  where      {node}" for node in join.conditions)
    yield from (f"  output     {slot.name} {slot.type}" for slot in join.bounds)
    yield from (f"  output     {o.name} {o.node.type} = {o.node}" for o in join.outputs)


def _sides(name: str, parts: Sequence[QueryPlan | RowQuery]) -> Iterator[str]:
    label = f"side {name}"
    for part in parts:
        for line in _said_there(part):
            yield f"  {label:<11}{line}"
            label = ""


def _said_there(part: QueryPlan | RowQuery) -> Iterator[str]:
    if part.where:
        yield f"where {_scalar(part.where)}"
    if isinstance(part, RowQuery):
        if part.key:
            yield f"holds {', '.join(column.scalar.sql for column in part.columns)}"
        return
    yield from (f"{key.slot.name} = {_scalar(key.scalar)}" for key in part.keys)
    yield from (f"{call.slot.name} = {call.sql}" for call in part.aggregates)


def _tree(relation: Relation) -> Iterator[str]:
    """A node a line, each below and to the right of the one that reads it."""
    for depth, node in relation.walk():
        label = "" if depth else "from"
        yield f"  {label:<11}{'  ' * depth}{node.title}{_note(node)}"


def _note(node: Relation) -> str:
    if isinstance(node, Source) and node.is_latent:
        return "   (latent, stamped on arrival)"
    return "   (Catalyst, broadcast)" if isinstance(node, TableJoin) else ""


def _scalar(scalar: Scalar) -> str:
    guard = ", guarded" if scalar.guarded else ""
    return f"{scalar.try_sql}   (Catalyst, per row{guard})"


def _node(node: Node) -> str:
    where = "workers, vectorised" if is_vectorised(node) else "Spark SQL over the answer rows"
    return f"{node}   ({where})"


def _ordering(ordering: Ordering) -> str:
    direction = "DESC" if ordering.descending else "ASC"
    nulls = "NULLS FIRST" if ordering.nulls_first else "NULLS LAST"
    return f"{ordering.node} {direction} {nulls}"
