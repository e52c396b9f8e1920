"""How many values fall into each of sixteen ranges of equal width."""

import numpy as np

import tidemill

RANGES = 16


@tidemill.aggregate(
    arguments={"x": "DOUBLE"},
    state={"counts": f"BIGINT[{RANGES}]"},
    returns="ARRAY<BIGINT>",
)
class Histogram:
    """From low to high; what lies outside goes into the first range or the last."""

    def __init__(self, low: float = 0.0, high: float = 1600.0):
        if not low < high:
            raise ValueError("low must lie below high")
        self.edges = np.linspace(low, high, RANGES + 1)[1:-1]

    def identity(self):
        return {"counts": np.zeros(RANGES, np.int64)}

    def lift(self, x):
        place = np.searchsorted(self.edges, x.to_numpy(), side="right")
        return {"counts": (place[:, None] == np.arange(RANGES)).astype(np.int64)}

    def combine(self, left, right):
        return {"counts": left["counts"] + right["counts"]}

    def subtract(self, left, right):
        return {"counts": left["counts"] - right["counts"]}

    def lower(self, state):
        return state["counts"]
