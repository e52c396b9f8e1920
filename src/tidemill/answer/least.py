"""A compiled loop that marks the least of each row of a matrix, where few are wanted.

>>> keys, no_flags = np.array([[5, 1, 3, 1]]), np.zeros((0, 0), np.bool_)
>>> flags = np.zeros(keys.shape, np.bool_)
>>> mark_least(keys, no_flags, 2, flags)
>>> flags.tolist()
[[False, True, False, True]]
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
