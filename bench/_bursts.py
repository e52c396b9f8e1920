"""A stream whose values come in bursts, as connections do."""

from __future__ import annotations

import numpy as np
from _rows import zipf

from tidemill.arrays import IntArray

SOURCES = 1_647
_SKEW = 1.1
# Rows of a session by Pareto's law, of which the longest are cut off.
_SHAPE, _MOST_ROWS = 1.15, 2_000
# Mean rows of the stream between two of a session.
_GAP = 12.0


def burst_stream(rows: int, seed: int) -> IntArray:
    """So many rows: the source of each. A session is of one source and lasts for some time."""
    dice = np.random.default_rng(seed)
    sessions = rows // 4
    lengths = np.minimum((1 + dice.pareto(_SHAPE, sessions)).astype(np.int64), _MOST_ROWS)
    source = dice.choice(SOURCES, sessions, p=zipf(SOURCES, _SKEW))
    begin = dice.uniform(0, rows, sessions)
    which = np.repeat(np.arange(sessions), lengths)
    gaps = dice.exponential(_GAP, len(which))
    waited = np.cumsum(gaps)
    first = np.cumsum(lengths) - lengths
    at = begin[which] + waited - waited[first][which]
    inside = at < rows
    order = np.argsort(at[inside], kind="stable")
    found: IntArray = source[which[inside][order]][:rows]
    return found
