"""The compiled loop that hands rows to the synopses that take them."""

from __future__ import annotations

from tidemill.arrays import Array
from tidemill.compiling import compiled


@compiled
def hand_out(
    first: Array,
    taker: Array,
    home: Array,
    kind: Array,
    column: Array,
    group: Array,
    groups: int,
    code: Array,
    row: Array,
) -> int:
    """Each row handed to the takers of its kind, `taker[first[kind]:first[kind + 1]]`.

    A taker has homes by column, or -1 where it wants nothing. `code`, of home and group, and
    `row` are filled; how many there are is told.
    """
    count = 0
    for i in range(len(kind)):
        for k in range(first[kind[i]], first[kind[i] + 1]):
            at = home[taker[k], column[i]]
            if at >= 0:
                code[count] = at * groups + group[i]
                row[count] = i
                count += 1
    return count
