"""The parts of a window that FREQUENT counts by themselves."""

from __future__ import annotations

from sqlglot import exp

from tidemill.errors import refuse
from tidemill.language.durations import parse_duration_at, render_duration
from tidemill.language.statements import Expr, Window
from tidemill.plan.bind.scope import place_in
from tidemill.plan.expressions import Value


def with_subwindow(
    expr: Expr, node: exp.Expr, constants: tuple[Value, ...], window: Window
) -> tuple[Value, ...]:
    """The constants of a call with its sub-window in canonical form; the slide if none is given.

    Rows are counted between the edges of windows, so that is where sub-windows can end: they
    are whole slides long, and a window is a whole number of them.
    """
    most, given = constants
    place = place_in(expr, node)
    subwindow_us = window.grid_us
    if isinstance(given, str):
        subwindow_us = parse_duration_at(given, "", place)
    wrong = [r for r in window.ranges_us if subwindow_us <= 0 or r % subwindow_us]
    if wrong or subwindow_us % window.grid_us:
        length = render_duration(wrong[0] if wrong else window.range_us)
        refuse(
            "E_SUBWINDOW",
            f"a window of {length} is not made of whole sub-windows of "
            f"{render_duration(subwindow_us)}",
            hint="FREQUENT counts by the slide, or by several slides: RANGE has to be a multiple",
            place=place,
        )
    return most, render_duration(subwindow_us)
