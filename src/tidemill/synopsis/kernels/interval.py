"""The interval kernel: slices combined in runs of 1, 2, 4, …, a window from a few of them.

An idempotent algebra may count a slice twice, so two overlapping runs answer any window (a
sparse table). Any other is answered from aligned runs, none of them overlapping (Golab's
interval synopsis). One level of runs is held at a time: windows take what they need from it,
then it is folded into the next. Order is kept, so the algebra need not be commutative.

>>> from tidemill.aggregates.algebra import INTEGER_MAX
>>> interval(np.array([[3], [1], [2]]), np.array([0, 1]), np.array([2, 3]), INTEGER_MAX).ravel()
array([3, 2])
"""

from __future__ import annotations

import numpy as np

from tidemill.aggregates.algebra import Algebra, AnyArray, IntArray


def interval(cells: AnyArray, lo: IntArray, hi: IntArray, algebra: Algebra) -> AnyArray:
    """Each window `cells[lo:hi]` combined, never by subtraction; empty windows give the identity.

    Infinities of both signs in one float sum give NaN, as they do in Spark.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        if algebra.idempotent:
            return _overlapping(cells, lo, hi, algebra)
        return _aligned(cells, lo, hi, algebra)


def _overlapping(cells: AnyArray, lo: IntArray, hi: IntArray, algebra: Algebra) -> AnyArray:
    result = algebra.filled((len(lo), *cells.shape[1:]), cells.dtype)
    length = 1
    longest = int((hi - lo).max(initial=0))
    runs = cells
    while length <= longest:
        mine = np.nonzero((hi - lo >= length) & (hi - lo < 2 * length))[0]
        result[mine] = algebra.combine(runs[lo[mine]], runs[hi[mine] - length])
        # Entry i of the next level starts at slice i and is twice as long.
        runs = algebra.combine(runs[:-length], runs[length:])
        length *= 2
    return result


def _aligned(cells: AnyArray, lo: IntArray, hi: IntArray, algebra: Algebra) -> AnyArray:
    """Climb the levels from both ends of each window, taking the run that sticks out."""
    left = algebra.filled((len(lo), *cells.shape[1:]), cells.dtype)
    right = left.copy()
    runs, first, last = cells, lo.copy(), hi.copy()
    while np.any(first < last):
        odd = np.nonzero((first < last) & (first & 1 == 1))[0]
        left[odd] = algebra.combine(left[odd], runs[first[odd]])
        first[odd] += 1
        odd = np.nonzero((first < last) & (last & 1 == 1))[0]
        last[odd] -= 1
        right[odd] = algebra.combine(runs[last[odd]], right[odd])
        whole = len(runs) // 2 * 2
        runs = algebra.combine(runs[0:whole:2], runs[1:whole:2])
        first, last = first >> 1, last >> 1
    result: AnyArray = algebra.combine(left, right)
    return result
