"""Combine kernels: slices along axis 0 in, one value per window out.

`cells` has shape (slices, groups) or (slices, groups, limbs); window w is `cells[lo[w]:hi[w]]`.
A kernel prepares the cells once and is then asked for whole windows or for single groups of
them. All kernels give the same answers; the README beside this file has a card for each.
"""

from tidemill.aggregates.algebra import (
    ALGEBRAS,
    COUNT,
    FLOAT_MAX,
    FLOAT_MIN,
    FLOAT_SUM,
    INTEGER_MAX,
    INTEGER_MIN,
    INTEGER_SUM,
    Algebra,
)
from tidemill.state.kernels.choose import KERNELS, Combiner, Kernel, combiner

__all__ = [
    "ALGEBRAS",
    "COUNT",
    "FLOAT_MAX",
    "FLOAT_MIN",
    "FLOAT_SUM",
    "INTEGER_MAX",
    "INTEGER_MIN",
    "INTEGER_SUM",
    "KERNELS",
    "Algebra",
    "Array",
    "BoolArray",
    "Combiner",
    "IntArray",
    "Kernel",
    "combiner",
]
