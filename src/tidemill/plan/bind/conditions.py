"""What WHERE, ON, HAVING and GROUP BY may not be."""

from __future__ import annotations

from sqlglot import exp

from tidemill.errors import Place, refuse
from tidemill.language.statements import Expr
from tidemill.plan.bind.scope import aggregate_calls, place_in
from tidemill.plan.functions import Known
from tidemill.types import BOOLEAN, VOID, Type


def check_condition(clause: str, found: Type, place: Place | None) -> None:
    """Refuses a condition that is neither true nor false."""
    if found not in (BOOLEAN, VOID):
        hint = "write a condition, such as a comparison: … > 0"
        refuse("E_TYPE", f"{clause} is {found}, not BOOLEAN", place=place, hint=hint)


def refuse_aggregates(
    clause: str, expr: Expr, tree: exp.Expr, known: Known, hint: str = ""
) -> None:
    """Refuses aggregates where there are rows but no groups yet."""
    for node, function in aggregate_calls(tree, known):
        refuse(
            f"E_AGGREGATE_IN_{clause.replace(' ', '_')}",
            f"aggregate {function} cannot stand in {clause}",
            hint=hint,
            place=place_in(expr, node),
        )
