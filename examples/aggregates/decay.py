"""A mean in which a value counts half as much for every half-life that it is older."""

import numpy as np
import pyarrow.compute as pc

import tidemill


@tidemill.aggregate(
    arguments={"x": "DOUBLE", "ts": "EVENT TIME"},
    state={"total": "DOUBLE", "weight": "DOUBLE", "newest": "TIMESTAMP"},
    returns="DOUBLE",
)
class DecayedMean:
    """Total and weight as they stand at the newest time seen; half_life is in seconds."""

    def __init__(self, half_life: float = 60.0):
        if half_life <= 0:
            raise ValueError("half_life must be above zero")
        self.half_life = np.timedelta64(round(half_life * 1e6), "us")

    def identity(self):
        return {"total": 0.0, "weight": 0.0, "newest": np.datetime64(-(2**62), "us")}

    def lift(self, x, ts):
        return {"total": x, "weight": 1.0, "newest": ts}

    def combine(self, left, right):
        newest = np.maximum(left["newest"], right["newest"])
        fade_left, fade_right = (self.fade(newest, side) for side in (left, right))
        return {
            "total": left["total"] * fade_left + right["total"] * fade_right,
            "weight": left["weight"] * fade_left + right["weight"] * fade_right,
            "newest": newest,
        }

    def fade(self, newest, side):
        # Times are whole microseconds, so that their difference is exact however far off they are.
        age = (newest - side["newest"]) / self.half_life
        return np.where(side["weight"] == 0, 0.0, np.exp2(-age))

    def lower(self, state):
        mean = state["total"] / state["weight"]
        return pc.if_else(state["weight"] > 0, mean, None)
