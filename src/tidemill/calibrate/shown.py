"""The figures as a table: the default and the measured value of each."""

from __future__ import annotations

from collections.abc import Iterator

from tidemill.aggregates import CostFamily
from tidemill.explain.replies import TEXT, CellType, ReplyTable
from tidemill.share.weave import CellCosts, MachineCosts, Machines

_UNIT = "ns of a core"
_ROWS = {
    "scan_ns": "a row read and put into its cell",
    "set_ns": "a row put into another cell",
    "partial_ns": "a partial row more",
}
_CELLS = {
    "fold_ns": "a partial row folded into a synopsis",
    "keep_ns": "a cell written",
    "read_ns": "a cell read again by a tick",
    "route_ns": "a cell handed to a condition",
    "home_ns": "a condition to which a tick hands cells",
    "narrow_ns": "a cell picked by its signature",
    "combine_ns": "a cell put into a running sum",
    "answer_ns": "a window × group answered",
    "piece_ns": "a file of cells written",
    "open_ns": "a file of cells opened",
    "run_ns": "a joint run of soft queries begun and ended",
}
_LANES = {
    "row_ns": "of one more row",
    "partial_ns": "of a partial row more",
    "fold_ns": "folded",
    "keep_ns": "written",
    "read_ns": "read again",
    "combine_ns": "made ready for windows",
    "answer_ns": "answered",
    "probe_ns": "merged once more",
    "open_ns": "in a file opened",
}
_ENTRIES = {
    CostFamily.NUMBERS: "a count or sum",
    CostFamily.EXTREMES: "a minimum or maximum",
    CostFamily.RECORDS: "moments, a first or last",
    CostFamily.VALUES: "a counted value",
    CostFamily.SKETCHES: "a value in a sketch",
    CostFamily.CODE: "a state of a user's code",
}


def machine_table(machines: Machines) -> ReplyTable:
    """Every figure; those of rows for either route."""
    return ReplyTable.of(_COLUMNS, _figures(machines))


def _figures(machines: Machines) -> Iterator[tuple[str, float, float, str]]:
    default = Machines()
    for name, meaning in _ROWS.items():
        yield _figure(f"{meaning}, on arrays", name, default.arrays, machines.arrays)
        yield _figure(f"{meaning}, in Catalyst", name, default.catalyst, machines.catalyst)
    for name, meaning in _CELLS.items():
        yield _figure(meaning, name, default.arrays, machines.arrays)
    for family, entry in _ENTRIES.items():
        before, after = default.arrays.lanes[family], machines.arrays.lanes[family]
        for name, meaning in _LANES.items():
            yield _figure(f"{entry} {meaning}", name, before, after)


def _figure(
    meaning: str,
    name: str,
    default: MachineCosts | CellCosts,
    measured: MachineCosts | CellCosts,
) -> tuple[str, float, float, str]:
    return meaning, getattr(default, name), getattr(measured, name), _UNIT


def nanosecond_text(nanoseconds: float) -> str:
    """
    >>> nanosecond_text(4.84), nanosecond_text(95.0), nanosecond_text(1849.7)
    ('4.8', '95', '1,850')
    """
    return f"{nanoseconds:,.0f}" if nanoseconds >= 10 else f"{nanoseconds:.1f}"


_NANOSECONDS = CellType("number", nanosecond_text)
_COLUMNS = {"what": TEXT, "default": _NANOSECONDS, "measured": _NANOSECONDS, "unit": TEXT}
