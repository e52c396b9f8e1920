"""The figures as a table: what was assumed, and what was found."""

from __future__ import annotations

from collections.abc import Iterator

from tidemill.share.weave import MachineCosts, Machines
from tidemill.words import table

_UNIT = "ns of a core"
_ROWS = {
    "scan_ns": "a row read and put into its cell",
    "set_ns": "a row put into another cell",
    "partial_ns": "a partial row more",
}
_CELLS = {
    "fold_ns": "a partial row folded into a synopsis",
    "keep_ns": "a cell written, and read by later ticks",
    "route_ns": "a cell handed to a condition",
    "narrow_ns": "a cell picked by its signature",
    "combine_ns": "a cell put into a running sum",
    "answer_ns": "a window × group answered",
    "run_ns": "a joint run of soft queries begun and ended",
    "probe_ns": "a merge more for an answer",
}


def machine_table(machines: Machines) -> str:
    """Every figure; those of rows for either route."""
    return table(("what", "default", "measured", "unit"), list(_lines(machines)))


def _lines(machines: Machines) -> Iterator[tuple[str, ...]]:
    usual = Machines()
    for name, what in _ROWS.items():
        yield _line(f"{what}, on arrays", name, usual.arrays, machines.arrays)
        yield _line(f"{what}, in Catalyst", name, usual.catalyst, machines.catalyst)
    for name, what in _CELLS.items():
        yield _line(what, name, usual.arrays, machines.arrays)


def _line(what: str, name: str, usual: MachineCosts, found: MachineCosts) -> tuple[str, ...]:
    return what, _figure(getattr(usual, name)), _figure(getattr(found, name)), _UNIT


def _figure(nanoseconds: float) -> str:
    """
    >>> _figure(4.84), _figure(95.0), _figure(1849.7)
    ('4.8', '95', '1,850')
    """
    return f"{nanoseconds:,.0f}" if nanoseconds >= 10 else f"{nanoseconds:.1f}"
