"""How unlikely so many events in so short a time are, if they come at their usual rate."""

import numpy as np
import pyarrow as pa

import tidemill

SECOND = np.timedelta64(1, "s")
NEVER = np.datetime64(2**62, "us"), np.datetime64(-(2**62), "us")


@tidemill.aggregate(
    arguments={"events": "BIGINT", "ts": "EVENT TIME"},
    state={"events": "BIGINT", "first": "TIMESTAMP", "last": "TIMESTAMP"},
    returns="DOUBLE",
)
class BurstScore:
    """The logarithm of a ratio: how likely the events are at the rate they have come at, over
    how likely they are at `usual` events a second, both as a Poisson process. Zero where they
    are no more than usual; NULL while there is no time between the first and the last.
    """

    def __init__(self, usual: float = 1.0):
        if usual <= 0:
            raise ValueError("usual must be above zero")
        self.usual = usual

    def identity(self):
        return {"events": 0, "first": NEVER[0], "last": NEVER[1]}

    def lift(self, events, ts):
        return {"events": events, "first": ts, "last": ts}

    def combine(self, left, right):
        return {
            "events": left["events"] + right["events"],
            "first": np.minimum(left["first"], right["first"]),
            "last": np.maximum(left["last"], right["last"]),
        }

    def lower(self, state):
        seconds = (state["last"] - state["first"]) / SECOND
        expected = self.usual * seconds
        events = state["events"].astype(float)
        score = events * np.log(events / expected) - (events - expected)
        score = np.where(events > expected, score, 0.0)
        return pa.array(score, mask=seconds <= 0)
