"""The clauses of a query: their expressions typed, and what each of them must be.

An expression is evaluated here where we can, by Spark where we cannot, and taken over whole or
not at all. What Spark would refuse is refused by the oracle, with Spark's own reason.

>>> import sqlglot
>>> from tidemill.types import BIGINT, STRING
>>> def oracle(sql, columns):
...     return STRING
>>> columns = {"total": BIGINT, "rows": BIGINT}
>>> print(type_expression(sqlglot.parse_one("total / rows"), columns, oracle))
div(cast(total AS DOUBLE), cast(rows AS DOUBLE))
>>> print(type_expression(sqlglot.parse_one("total || 'x'"), columns, oracle))
spark[total || 'x']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property, reduce

from sqlglot import exp

from tidemill.catalog import Stream
from tidemill.durations import render_duration
from tidemill.errors import Place, TidemillError, refuse
from tidemill.language.expressions.trees import to_sql
from tidemill.language.names import Name
from tidemill.language.statements import Expr, Select, SelectItem, Window
from tidemill.plan.bind.scope import Scope, aggregate_calls, check_replayable, place_in
from tidemill.plan.builders import OutsideError
from tidemill.plan.expressions import Node, Opaque, Scalar
from tidemill.plan.functions import Signatures
from tidemill.plan.joins import JoinTerms
from tidemill.plan.normal_form import normal_form
from tidemill.plan.predicates import Predicate, canonical
from tidemill.plan.predicates.predicate import where as only_where
from tidemill.plan.predicates.values import compared
from tidemill.plan.raises import raised_sql
from tidemill.plan.relation import ordered
from tidemill.plan.scalars import make_scalar
from tidemill.plan.try_forms import to_spark_sql
from tidemill.plan.typed_trees import slots_by_name, type_known
from tidemill.types import BOOLEAN, VOID, Type

TypeOracle = Callable[[str, Mapping[str, Type]], Type]
"""(Spark SQL text, columns) ⇒ its type; refuses with E_TYPE or E_FUNCTION what Spark refuses."""


@dataclass(frozen=True)
class ScalarBinder:
    """Binds resolved trees over the columns of a scope."""

    scope: Scope
    oracle: TypeOracle

    def bind(self, expr: Expr, tree: exp.Expr) -> Scalar:
        """`tree` is all or a part of `expr`, which says where a refusal points."""
        check_replayable(expr, tree)
        normal = normal_form(tree, self.types)
        node = type_placed(expr, normal, self.types, self.oracle)
        columns, joined = self.scope.columns_of(tree), self.scope.joined_of(tree)
        return make_scalar(normal, self.types, node.type, columns, joined)

    def normal_text(self, tree: exp.Expr) -> str:
        """The text of the scalar that a resolved tree would make."""
        return to_sql(normal_form(tree, self.types))

    @cached_property
    def types(self) -> dict[str, Type]:
        return {key: column.type for key, column in self.scope.columns.items()}


def type_placed(expr: Expr, tree: exp.Expr, types: Mapping[str, Type], oracle: TypeOracle) -> Node:
    """The typed expression; a refusal without a place gets that of `expr`."""
    try:
        return type_expression(tree, types, oracle)
    except TidemillError as error:
        if error.problem.place is not None:
            raise
        raise TidemillError(replace(error.problem, place=expr.place)) from None


def type_expression(tree: exp.Expr, columns: Mapping[str, Type], oracle: TypeOracle) -> Node:
    """The typed tree, or one `Opaque` for the whole expression; names in any case."""
    named, alone = slots_by_name(columns), tree.unnest()
    slot = named.get(Name(alone.name)) if isinstance(alone, exp.Column) else None
    if slot is not None and slot.type.inner:
        # What an aggregate gives is known whatever its type; operators over it are Spark's.
        return slot
    try:
        node = type_known(tree, named)
    except OutsideError:
        return _opaque(tree, columns, oracle)
    # A bare NULL has no array type of its own worth carrying.
    return node if node.type != VOID else _opaque(tree, columns, oracle)


def _opaque(tree: exp.Expr, columns: Mapping[str, Type], oracle: TypeOracle) -> Opaque:
    sql = to_spark_sql(tree, columns)
    return Opaque(sql, oracle(sql, columns), raised_sql(tree, columns))


def check_condition(clause: str, type: Type, place: Place | None) -> None:
    """Refuses a condition that is neither true nor false."""
    if type not in (BOOLEAN, VOID):
        hint = "write a condition, such as a comparison: … > 0"
        refuse("E_TYPE", f"{clause} is {type}, not BOOLEAN", place=place, hint=hint)


def check_emit(select: Select, window: Window) -> None:
    """Refuses answers at times that a window or a group by does not have."""
    emit = select.emit
    if emit.place is not None and window.is_soft:
        hint = "a soft period is answered when there is time; write SLIDE s for windows that close"
        refuse("E_EMIT", "a soft period has no EMIT", hint=hint, place=emit.place)
    if emit.every_us >= min(window.ranges_us):
        every, shortest = map(render_duration, (emit.every_us, min(window.ranges_us)))
        refuse(
            "E_EMIT",
            f"EMIT EVERY {every} is not shorter than the range, {shortest}",
            hint="answer a window several times before it closes, or leave EMIT EVERY out",
            place=emit.place,
        )
    if emit.empty_windows and select.group_by:
        refuse(
            "E_EMIT",
            "EMIT EMPTY WINDOWS and GROUP BY exclude each other",
            detail="a window without rows has no groups",
            hint="leave GROUP BY out, or name the groups in one query each, by WHERE",
            place=emit.place,
        )


def check_delta(select: Select, source: Stream) -> None:
    """Refuses changes of answers that are corrected: which answer was the one before?"""
    if select.delta and source.correct_us:
        refuse(
            "E_WINDOW",
            f"{select.delta} has no answers that are corrected",
            detail=f"rows that come late correct answers over stream {select.stream}",
            hint="leave correct out of the stream, and allow for more lateness",
            place=select.delta_place,
        )


def refuse_aggregates(
    clause: str, expr: Expr, tree: exp.Expr, signatures: Signatures, hint: str = ""
) -> None:
    """Refuses aggregates where there are rows but no groups yet."""
    for node, function in aggregate_calls(tree, signatures):
        refuse(
            f"E_AGGREGATE_IN_{clause.replace(' ', '_')}",
            f"aggregate {function} cannot stand in {clause}",
            hint=hint,
            place=place_in(expr, node),
        )


def predicate_of(
    where: Scalar | None, joins: Iterable[JoinTerms], types: Mapping[str, Type]
) -> Predicate:
    """The rows that pass WHERE and have the partners they must have."""
    inner = (join.partner for join in ordered(joins) if join.kind == "inner")
    partners = (only_where(slot, compared("eq", True, BOOLEAN)) for slot in inner)
    return reduce(Predicate.__and__, partners, canonical(where, types))


def column_name(item: SelectItem) -> str:
    """The alias, the column's own name, or the text, lower-cased as Spark does for calls."""
    if item.alias:
        return item.alias
    tree = item.expr.tree
    if isinstance(tree, exp.Column):
        return str(tree.name)
    return item.expr.sql.lower().replace("count(*)", "count(1)")


def check_output_name(name: str, names: Set[str], place: Place | None, hint: str) -> None:
    """Refuses the name of an answer's column that the engine needs or another one has."""
    if name.startswith("_"):
        refuse(
            "E_NAME",
            f"answer column '{name}' begins with '_', which is kept for the engine",
            place=place,
        )
    if Name(name) in names:
        primary = f"two answer columns would be called '{name}'"
        refuse("E_DUPLICATE", primary, hint=hint, place=place)


def with_updates(select: Select, stream: Stream) -> Select:
    """Soft windows end where the stream's updates are; strict ones are left as they are."""
    window, update_us = select.window, stream.update_us
    if window is None or not window.is_soft:
        return select
    if 0 < window.slide_us < update_us:
        refuse(
            "E_WINDOW",
            f"SLIDE UP TO {render_duration(window.slide_us)} is less than the time between two "
            f"updates of stream {stream.name}, {render_duration(update_us)}",
            hint="allow a longer period, or declare the stream WITH (update = '…')",
            place=window.place,
        )
    return replace(select, window=replace(window, update_us=update_us))
