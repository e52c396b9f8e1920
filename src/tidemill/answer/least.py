"""Compiled loops for the first few of each window: the least of a row, and short runs in order.

>>> keys, no_flags = np.array([[5, 1, 3, 1]]), np.zeros((0, 0), np.bool_)
>>> flags = np.zeros(keys.shape, np.bool_)
>>> mark_least(keys, no_flags, 2, flags)
>>> flags.tolist()
[[False, True, False, True]]
>>> order = np.array([0, 1, 2, 3])
>>> sort_runs(order, np.array([0, 3, 4]), np.array([[7, 7, 5, 0], [2, 1, 9, 0]]))
>>> order.tolist()
[2, 1, 0, 3]
"""

from __future__ import annotations

import numpy as np

from tidemill.arrays import Array
from tidemill.compiling import compiled

# Beyond so many, to keep the least of a row in order costs more than to partition it.
MOST_LEAST = 64


@compiled
def mark_least(keys: Array, eligible: Array, limit: int, flags: Array) -> None:
    """Flags of cells whose key is at most the limit-th least of its row.

    Only eligible cells count; without rows of these all do. Few keys are below the least so far,
    so most cells are compared once.
    """
    rows, columns = keys.shape
    is_open = len(eligible) == 0
    least = np.empty(limit, np.int64)
    for row in range(rows):
        size = 0
        for column in range(columns):
            key = keys[row, column]
            if size == limit and key >= least[limit - 1]:
                continue
            if is_open or eligible[row, column]:
                place = min(size, limit - 1)
                size = place + 1
                while place > 0 and least[place - 1] > key:
                    least[place] = least[place - 1]
                    place -= 1
                least[place] = key
        for column in range(columns):
            if size and keys[row, column] <= least[size - 1]:
                flags[row, column] = is_open or eligible[row, column]


# Longer runs are sorted in another way.
LONGEST_RUN = 256


@compiled
def sort_runs(order: Array, bounds: Array, keys: Array) -> None:
    """Each run of the order, between two bounds, sorted by the keys of its rows.

    The first row of `keys` decides first; rows that tie stay as they are.
    """
    for run in range(len(bounds) - 1):
        for at in range(bounds[run] + 1, bounds[run + 1]):
            row, place = order[at], at
            while place > bounds[run]:
                before, is_less = order[place - 1], False
                for number in range(len(keys)):
                    if keys[number, row] != keys[number, before]:
                        is_less = keys[number, row] < keys[number, before]
                        break
                if not is_less:
                    break
                order[place] = before
                place -= 1
            order[place] = row
