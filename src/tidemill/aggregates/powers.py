"""What many of a kind come to: states combined with themselves, and counts as far as they go.

>>> from tidemill.aggregates.algebra import INTEGER_SUM
>>> power(INTEGER_SUM, np.array([3, -1]), np.array([5, 1])).tolist()
[15, -1]
"""

from __future__ import annotations

import numpy as np

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.elementwise import put
from tidemill.arrays import Array, IntArray

# No cell counts its values any further: then there is room to add up a few hundred cells.
MOST_COUNTED = 2**54


def power(algebra: Algebra, states: Array, times: IntArray) -> Array:
    """Each state combined with itself, so many in all, by doubling."""
    powers = algebra.filled(states.shape, states.dtype)
    left = times.copy()
    while True:
        odd = np.flatnonzero(left & 1)
        put(powers, odd, algebra.combine(powers.take(odd, axis=0), states.take(odd, axis=0)))
        left >>= 1
        rest = np.flatnonzero(left)
        if not len(rest):
            return powers
        states = states.copy()
        twice = states.take(rest, axis=0)
        put(states, rest, algebra.combine(twice, twice))


def multiplied_counts(counts: IntArray, weights: IntArray | int, sizes: IntArray | int) -> IntArray:
    """Counts of values times their weights; `sizes` says how many values the cell of each has.

    >>> multiplied_counts(np.array([3, 2**50]), 2**10, 2).tolist()
    [3072, 9007199254740992]
    """
    most = MOST_COUNTED // np.maximum(sizes, 1)
    return np.where(counts > most // weights, most, counts * weights)
