"""What clauses of a query must be: conditions, the windows of soft periods, sub-windows."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tidemill.catalog import Stream
from tidemill.errors import Place, refuse
from tidemill.language.durations import parse_duration_at, render_duration
from tidemill.language.statements import Expr, Select, Window
from tidemill.plan.bind.scope import aggregate_calls, place_in
from tidemill.plan.expressions import Value
from tidemill.plan.functions import Signatures
from tidemill.types import BOOLEAN, VOID, Type


def check_condition(clause: str, type: Type, place: Place | None) -> None:
    """Refuses a condition that is neither true nor false."""
    if type not in (BOOLEAN, VOID):
        hint = "write a condition, such as a comparison: … > 0"
        refuse("E_TYPE", f"{clause} is {type}, not BOOLEAN", place=place, hint=hint)


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


def with_updates(select: Select, stream: Stream) -> Select:
    """Soft windows end where the stream's updates are; strict ones are left as they are."""
    window, update_us = select.window, stream.update_us
    if not window.is_soft:
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


def with_subwindow(
    expr: Expr, node: exp.Expr, constants: tuple[Value, ...], window: Window
) -> tuple[Value, ...]:
    """The constants of FREQUENT with its sub-window in canonical form; the slide by default.

    Rows are counted between the edges of windows, so that is where sub-windows can end: they
    are whole slides long, and a window is a whole number of them.
    """
    most, duration = constants
    place = place_in(expr, node)
    subwindow_us = window.grid_us
    if isinstance(duration, str):
        subwindow_us = parse_duration_at(duration, "", place)
    uneven = [r for r in window.ranges_us if subwindow_us <= 0 or r % subwindow_us]
    if uneven or subwindow_us % window.grid_us:
        length = render_duration(uneven[0] if uneven else window.range_us)
        refuse(
            "E_SUBWINDOW",
            f"a window of {length} is not made of whole sub-windows of "
            f"{render_duration(subwindow_us)}",
            hint="FREQUENT counts by the slide, or by several slides: RANGE has to be a multiple",
            place=place,
        )
    return most, render_duration(subwindow_us)
