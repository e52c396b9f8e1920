"""Count, mean and sum of squared deviations: what a variance is made of.

Two of them are combined by the formula of Chan, Golub and LeVeque, which never subtracts large
sums of squares. Nothing is ever taken out of a window again: after one 1e18 or one infinity,
later windows are as good as before.
"""

from __future__ import annotations

import numpy as np

from tidemill.aggregates.algebra import Algebra, AnyArray
from tidemill.aggregates.elementwise import Elementwise, records

DTYPE = np.dtype([("n", np.float64), ("mean", np.float64), ("m2", np.float64)])


def combine(left: AnyArray, right: AnyArray) -> AnyArray:
    """The moments of both together.

    >>> one = records(DTYPE, np.array([2.0]), np.array([1.5]), np.array([0.5]))
    >>> combine(one, one).tolist()
    [(4.0, 1.5, 1.0)]
    """
    count = left["n"] + right["n"]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        share = right["n"] / np.where(count == 0, 1, count)
        apart = right["mean"] - left["mean"]
        mean = left["mean"] + apart * share
        m2 = left["m2"] + right["m2"] + apart * apart * left["n"] * share
    # Nothing beside something: the formula would make NaN of an infinite mean.
    none, alone = right["n"] == 0, left["n"] == 0
    mean = np.where(none, left["mean"], np.where(alone, right["mean"], mean))
    m2 = np.where(none, left["m2"], np.where(alone, right["m2"], m2))
    return records(DTYPE, count, mean, m2)


MOMENTS = Algebra("moments", Elementwise(combine), np.zeros((), DTYPE)[()])
