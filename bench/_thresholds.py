"""HAVING thresholds that about 2 % of the groups of a window pass.

A sample of the rows gives, for a WHERE clause and a group-by, each group's share and the mean
and variance of its lengths. Counts in a window are drawn as Poisson, sums as normal around
them; the threshold is the 98th percentile over the groups that occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import duckdb
import numpy as np
import pyarrow as pa
from _rows import Shape, make_rows

from tidemill.arrays import FloatArray

PASSING = 0.02
_SAMPLE_ROWS = 400_000
_DRAWS = 20_000


@dataclass(frozen=True)
class Groups:
    """One entry per group: rows a second, mean and variance of the lengths."""

    rate: FloatArray
    mean: FloatArray
    variance: FloatArray


class Thresholds:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._known: dict[tuple[tuple[str, ...], str | None], Groups] = {}

    def of(self, aggregate: str, keys: tuple[str, ...], where: str | None, range_s: int) -> int:
        """For `COUNT(*)` or `SUM(length)` over a window of this length."""
        groups = self._groups(keys, where)
        dice = np.random.default_rng(98)
        draws = max(1, _DRAWS // max(1, len(groups.rate)))
        counts = dice.poisson(np.tile(groups.rate * range_s, (draws, 1))).astype(np.float64)
        values = counts
        if aggregate != "COUNT(*)":
            noise = dice.standard_normal(counts.shape) * np.sqrt(counts * groups.variance)
            values = counts * groups.mean + noise
        present = values[counts > 0]
        return int(np.quantile(present, 1 - PASSING)) if present.size else 0

    def _groups(self, keys: tuple[str, ...], where: str | None) -> Groups:
        if (keys, where) not in self._known:
            self._known[keys, where] = self._measure(keys, where)
        return self._known[keys, where]

    def _measure(self, keys: tuple[str, ...], where: str | None) -> Groups:
        grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
        rows = self._sample.sql(
            "SELECT COUNT(*) AS n, AVG(length) AS m, COALESCE(VAR_POP(length), 0) AS v "
            f"FROM packets WHERE {where or 'TRUE'}{grouping} HAVING COUNT(*) > 0"
        ).fetchnumpy()
        share = np.asarray(rows["n"], np.float64) / _SAMPLE_ROWS
        return Groups(share * self._shape.rate, np.asarray(rows["m"]), np.asarray(rows["v"]))

    @cached_property
    def _sample(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(config={"threads": 1})
        connection.register("packets", _sampled(self._shape))
        return connection


def _sampled(shape: Shape) -> pa.Table:
    # A piece of its own, never written to the files.
    return make_rows(shape, 0, _SAMPLE_ROWS, seed=1 << 30)
