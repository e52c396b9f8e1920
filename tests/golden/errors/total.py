"""The aggregate that wrong scripts call wrongly."""

import tidemill


@tidemill.aggregate(arguments={"x": "DOUBLE"}, state={"total": "DOUBLE"}, returns="DOUBLE")
class Total:
    def __init__(self, scale: float = 1.0):
        if scale == 0:
            raise ValueError("scale must not be zero")

    def identity(self):
        return {"total": 0.0}

    def lift(self, x):
        return {"total": x}

    def combine(self, left, right):
        return {"total": left["total"] + right["total"]}

    def lower(self, state):
        return state["total"]
