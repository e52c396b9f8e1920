"""Random sides of joins: their rows, the cells that hold them, and joins of all kinds by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

from tests.scan.arrays.rows import AGGREGATES, COLUMNS, Row, plan_of, value_of
from tidemill.aggregates import (
    ROWS,
    Encoded,
    Lane,
    LaneArray,
    Lowering,
    gives_numbers,
    lanes_behind,
    lower,
    lower_numbers,
)
from tidemill.aggregates.limbs import as_limbs
from tidemill.aggregates.numbering import factorise
from tidemill.answer.joined.inputs import JoinedLanes, SideCells, SideWindows
from tidemill.answer.joined.joined import joined_chunks
from tidemill.arrays import IntArray
from tidemill.language.statements import Window
from tidemill.plan.query import AggregateCall
from tidemill.plan.window_join import (
    Among,
    Guard,
    JoinSide,
    JoinTerm,
    RowClass,
    SidePlace,
    WindowJoin,
)
from tidemill.reference.window_joins import SideRow
from tidemill.state.cells import Cells
from tidemill.state.layouts.bundles import Block, CellLayout
from tidemill.types import BOOLEAN, Type, parse_type

# By look and group, the values of the calls.
Groups = dict[int, dict[tuple[Any, ...], tuple[Any, ...]]]
SLICE_US = 1000
ALL = RowClass()
CALLS = (*AGGREGATES, "SUM(price)", "AVG(price)", "MIN(price)", "MEDIAN(n)", "PERCENTILE(big, 0.3)")


def call_of(sql: str) -> AggregateCall:
    """The first aggregate that is scaled of a SELECT with just this one."""
    plan = plan_of(0, f"SELECT {sql} AS a FROM s [RANGE 9 ms SLIDE 4 ms]")
    return plan.aggregates[0]


def can_be_scaled(sql: str) -> bool:
    return all(lane.can_be_scaled for lane in lanes_behind(call_of(sql)))


# Terms by kind of join, and the flags that each side has for them.


def no(side: int, rows: RowClass = ALL, among: Among = Among.KEY) -> Guard:
    return Guard(side, rows, exists=False, among=among)


def yes(side: int, rows: RowClass = ALL, among: Among = Among.KEY) -> Guard:
    return Guard(side, rows, exists=True, among=among)


ON, OFF = RowClass((True,)), RowClass((False,))
LEFT = (JoinTerm((ALL, ALL)), JoinTerm((ALL, None), (no(1),)))
# FROM a LEFT JOIN b ON … AND about(a) WHERE about(b), where the condition on b is true of NULLs.
LEFT_WITH_CONDITIONS = (
    JoinTerm((ON, ON)),
    JoinTerm((ON, None), (no(1),)),
    JoinTerm((OFF, None)),
)
KINDS: dict[str, tuple[tuple[JoinTerm, ...], tuple[int, ...]]] = {
    "inner": ((JoinTerm((ALL, ALL)),), (0, 0)),
    "inner of three": ((JoinTerm((ALL, ALL, ALL)),), (0, 0, 0)),
    "inner of four": ((JoinTerm((ALL, ALL, ALL, ALL)),), (0, 0, 0, 0)),
    "left": (LEFT, (0, 0)),
    "left with conditions": (LEFT_WITH_CONDITIONS, (1, 1)),
    "right": ((JoinTerm((ALL, ALL)), JoinTerm((None, ALL), (no(0),))), (0, 0)),
    "full": ((*LEFT, JoinTerm((None, ALL), (no(0),))), (0, 0)),
    "semi": ((JoinTerm((ALL, None), (yes(1),)),), (0, 0)),
    "anti": ((JoinTerm((ALL, None), (no(1),)),), (0, 0)),
    "semi of flags": ((JoinTerm((ALL, None), (yes(1, ON),)),), (0, 1)),
    "not in": (
        (
            JoinTerm((ALL, None), (no(1, among=Among.WINDOW),)),
            JoinTerm(
                (ALL, None),
                (
                    yes(1, among=Among.WINDOW),
                    no(1, among=Among.NULL_KEYS),
                    yes(0),
                    no(1),
                ),
            ),
        ),
        (0, 0),
    ),
    "left of three": (
        (
            JoinTerm((ALL, ALL, ALL)),
            JoinTerm((ALL, ALL, None), (no(2),)),
            JoinTerm((ALL, None, ALL), (no(1),)),
            JoinTerm((ALL, None, None), (no(1), no(2))),
        ),
        (0, 0, 0),
    ),
    "inner and semi": ((JoinTerm((ALL, ALL, None), (yes(2),)),), (0, 0, 0)),
}


@dataclass(frozen=True)
class RandomSide:
    """What is drawn of a side: its key and group columns, calls, rows, and readings of each."""

    key: tuple[str, ...]
    flags: int
    others: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    rows: tuple[Row, ...]
    read_by: tuple[int, ...]  # by row, a bit for each of two readings

    def plain(self, reading: int, start_us: int, end_us: int) -> list[SideRow]:
        """The rows in a window, as the twin takes them."""
        return [
            self._plain(row)
            for row, bits in zip(self.rows, self.read_by, strict=True)
            if start_us <= row["ts"] < end_us and reading >= 0 and bits >> reading & 1
        ]

    def _plain(self, row: Row) -> SideRow:
        key = tuple(row[name] for name in self.key)
        arguments = tuple(tuple(value_of(a, row) for a in call.arguments) for call in self.calls)
        others = tuple(row[name] for name in self.others)
        return SideRow(row["ts"], key, self.flags_of(row), others, arguments)

    def flags_of(self, row: Row) -> tuple[bool, ...]:
        return (bool(row["flag"]),)[: self.flags]

    @property
    def lanes(self) -> tuple[Lane, ...]:
        behind = (lane for call in self.calls for lane in lanes_behind(call))
        return tuple(dict.fromkeys((*behind, ROWS)))

    @property
    def kinds(self) -> tuple[Type, ...]:
        key, others = ([kind_of(name) for name in names] for names in (self.key, self.others))
        return (*key, *([BOOLEAN] * self.flags), *others)

    def cells(self) -> SideCells:
        """A row of cells for each row and each reading of it."""
        pairs = [
            (row, reading)
            for row, bits in zip(self.rows, self.read_by, strict=True)
            for reading in (0, 1)
            if bits >> reading & 1
        ]
        keys = [self._plain(row).keys for row, _ in pairs]
        names = [f"_k{place}" for place in range(len(self.kinds))]
        columns = list(zip(*keys, strict=True)) or [()] * len(names)
        table = pa.table(
            {
                name: pa.array(column, kind.arrow)
                for name, column, kind in zip(names, columns, self.kinds, strict=True)
            }
        )
        number, first = factorise(table, len(pairs))
        times = np.array([row["ts"] // SLICE_US * SLICE_US for row, _ in pairs], np.int64)
        slices, at = np.unique(times, return_inverse=True)
        cells = Cells(
            slices=slices,
            slice_index=at.ravel().astype(np.int64),
            group=number,
            groups=table.take(pa.array(first)) if names else table,
            signature=np.array([reading for _, reading in pairs], np.int64),
            signatures=np.zeros((2, 0), np.int64),
            lanes=tuple(lifted(lane, [row for row, _ in pairs]) for lane in self.lanes),
        )
        return SideCells(cells, self.lanes)


def kind_of(column: str) -> Type:
    return parse_type(COLUMNS[column])


def lifted(lane: Lane, rows: Sequence[Row]) -> LaneArray:
    """A partial row of each."""
    parts = [
        lane.lift_plain([(row["ts"], tuple(value_of(s, row) for s in lane.arguments))])
        for row in rows
    ]
    columns = zip(*parts, strict=True) if parts else [()] * len(lane.part_types)
    arrays = [pa.array(c, kind) for c, kind in zip(columns, lane.part_types, strict=True)]
    return lane.encode(arrays)


def join_of(
    terms: tuple[JoinTerm, ...],
    key: tuple[Type, ...],
    sides: Sequence[RandomSide],
    groups: tuple[tuple[SidePlace, ...], ...],
    calls: tuple[SidePlace | None, ...],
) -> WindowJoin:
    window = Window(SLICE_US, SLICE_US)
    of_join = tuple(
        JoinSide(f"s{place}", window, (place,), side.flags) for place, side in enumerate(sides)
    )
    return WindowJoin(key, of_join, terms, groups, calls)


def whole_lanes(
    join: WindowJoin,
    kinds: tuple[Type, ...],
    calls: Sequence[AggregateCall],
    sides: Sequence[RandomSide],
) -> JoinedLanes:
    places: dict[Lane, SidePlace | None] = {ROWS: None}
    for call, place in zip(calls, join.calls, strict=True):
        if place is not None:
            of_side = sides[place.side].lanes
            for lane in lanes_behind(call):
                places[lane] = SidePlace(place.side, of_side.index(lane))
    return JoinedLanes(kinds, tuple(places), tuple(places.values()))


def values_of(call: AggregateCall, lanes: Mapping[Lane, Lowering]) -> list[Any]:
    """The value of a call in each cell."""
    by_lane = {lane: lanes[lane] for lane in lanes_behind(call)}
    if not gives_numbers(call):
        return cast(list[Any], lower(call, by_lane)[0].to_pylist())
    values, valid, _ = lower_numbers(call, by_lane, {})
    there = np.ones(len(values), bool) if valid is None else valid
    return [v if known else None for v, known in zip(values.tolist(), there, strict=True)]


def windows_of_looks(looks: Sequence[tuple[int, int, int]]) -> SideWindows:
    columns: list[IntArray] = [np.array(c, np.int64) for c in zip(*looks, strict=True)]
    return SideWindows(*columns)


def kernel_groups(
    join: WindowJoin,
    kinds: tuple[Type, ...],
    calls: Sequence[AggregateCall],
    sides: Sequence[RandomSide],
    looks: Sequence[Sequence[tuple[int, int, int]]],
    layout: CellLayout,
) -> Groups:
    """By look and group, the values that a kernel gives.

    Blocks are read whole and cell by cell: both ways must agree.
    """
    lanes = whole_lanes(join, kinds, calls, sides)
    windows = [windows_of_looks([look[side] for look in looks]) for side in range(len(sides))]
    found: dict[tuple[bool, int], dict[tuple[Any, ...], tuple[Any, ...]]] = {}
    inputs = [side.cells() for side in sides]
    for chunk in joined_chunks(join, lanes, inputs, windows, layout):
        # Every look twice, and not in order, as windows of several queries may have them.
        look = np.concatenate([np.arange(len(looks))[::-1], np.arange(len(looks))])
        for block in chunk.blocks(look):
            values, keys, window = _read(block, chunk.cells, lanes, calls)
            for row, number in enumerate(window):
                of_look = found.setdefault((number >= len(looks), int(look[number])), {})
                assert keys[row] not in of_look, "a cell twice"
                of_look[keys[row]] = tuple(column[row] for column in values)
    once, again = ({n: v for (twice, n), v in found.items() if twice is t} for t in (False, True))
    assert repr(sorted(once)) == repr(sorted(again))
    return once


def _read(
    block: Block, cells: Cells, lanes: JoinedLanes, calls: Sequence[AggregateCall]
) -> tuple[list[list[Any]], list[tuple[Any, ...]], list[int]]:
    """The values of each call, and the group and the window of each cell."""
    present = np.ones(1, bool) if block.present is None else block.present
    places = np.flatnonzero(np.broadcast_to(present, block.shape))
    at_cells = block.at(places)
    by_lane = {
        lane: _lowering(block.lane(number), at_cells.lane(number), places, rows)
        for number, (lane, rows) in enumerate(zip(lanes.lanes, cells.lanes, strict=True))
    }
    columns = [_plain_column(cells.groups.column(name)) for name in cells.groups.column_names]
    keys = [tuple(column[group] for column in columns) for group in at_cells.group.tolist()]
    return [values_of(call, by_lane) for call in calls], keys, at_cells.window.tolist()


def _lowering(whole: Any, some: Any, places: IntArray, rows: LaneArray) -> Lowering:
    if not isinstance(some, tuple):
        return cast(Lowering, some)
    assert isinstance(rows, Encoded)
    values, valid = some
    picked = [whole[0][places], values]
    picked = as_limbs(picked) if any(array.ndim == 2 for array in picked) else picked
    known = np.ones(len(values), bool) if valid is None else valid
    all_known = np.ones(len(whole[0]), bool) if whole[1] is None else whole[1]
    np.testing.assert_array_equal(all_known[places], known)
    assert repr(picked[0][known].tolist()) == repr(picked[1][known].tolist())
    return Encoded(values, valid, rows.dictionary)


def _plain_column(column: Any) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return cast(list[Any], column.to_pylist())
