"""The running kernel: totals from the first slice on, a window as the difference of two.

>>> import numpy as np
>>> from tidemill.aggregates.algebra import COUNT
>>> totals = Running(np.array([[1, 8], [2, 8], [4, 8]]), COUNT)
>>> totals.windows(np.array([0, 1]), np.array([2, 3])).tolist()
[[3, 16], [6, 16]]
>>> totals.at(np.array([1]), np.array([3]), np.array([0]))
array([6])
"""

from __future__ import annotations

import numpy as np

from tidemill.aggregates.algebra import Algebra
from tidemill.arrays import Array, IntArray

# From this many elements a slice on, adding slice by slice (0.7 µs and 0.3 ns an element)
# beats `accumulate` along axis 0 (2 to 3 ns an element).
RUNNING_WIDE_ELEMENTS = 256


class Running:
    """Windows by subtraction; empty windows give the identity.

    64-bit totals wrap around and their differences wrap back, so a total may overflow: an
    element is exact whenever its own window's sum fits 64 bits. With normalised limbs (below
    2^32) that is any window of fewer than 2^31 slices.
    """

    def __init__(self, cells: Array, algebra: Algebra) -> None:
        algebra.require("subtractable", "running")
        self._subtract = algebra.subtract
        self._totals = np.empty((len(cells) + 1, *cells.shape[1:]), cells.dtype)
        self._totals[0] = algebra.identity
        _accumulate(cells, self._totals, algebra)

    def windows(self, lo: IntArray, hi: IntArray) -> Array:
        result: Array = self._subtract(self._totals[hi], self._totals[lo])
        return result

    def at(self, lo: IntArray, hi: IntArray, group: IntArray) -> Array:
        result: Array = self._subtract(self._totals[hi, group], self._totals[lo, group])
        return result


def _accumulate(cells: Array, totals: Array, algebra: Algebra) -> None:
    if cells[:1].size < RUNNING_WIDE_ELEMENTS:
        algebra.combine.accumulate(cells, axis=0, out=totals[1:])
        return
    for i in range(len(cells)):
        algebra.combine(totals[i], cells[i], out=totals[i + 1])
