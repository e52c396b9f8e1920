"""Aggregates as users write them, for laws and stories: small states, awkward on purpose."""

from __future__ import annotations

from tidemill.catalog import Code

TEXT = '''
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import tidemill


@tidemill.aggregate(
    arguments={"x": "DOUBLE"},
    state={"n": "INT", "low": "DOUBLE", "high": "DOUBLE"},
    returns="DOUBLE",
)
class SpreadOut:
    """The largest less the smallest; NULL of fewer than `least` values."""

    def __init__(self, least: int = 2):
        self.least = least

    def identity(self):
        return {"n": 0, "low": np.inf, "high": -np.inf}

    def lift(self, x):
        return {"n": 1, "low": x, "high": x}

    def combine(self, left, right):
        return {
            "n": left["n"] + right["n"],
            "low": np.minimum(left["low"], right["low"]),
            "high": np.maximum(left["high"], right["high"]),
        }

    def lower(self, state):
        return pa.array(state["high"] - state["low"], mask=state["n"] < self.least)


@tidemill.aggregate(
    arguments={"text": "STRING", "n": "BIGINT"},
    state={"length": "INT", "n": "BIGINT", "is_any": "BOOLEAN"},
    returns="STRING",
)
class Longest:
    """Length of the longest text and the largest number beside one of that length, as text."""

    def identity(self):
        return {"length": -1, "n": 0, "is_any": False}

    def lift(self, text, n):
        return {"length": pc.utf8_length(text), "n": n, "is_any": np.ones(len(text), bool)}

    def combine(self, left, right):
        length = np.maximum(left["length"], right["length"])
        mine = [np.where(s["is_any"] & (s["length"] == length), s["n"], -(2**63))
                for s in (left, right)]
        is_any = left["is_any"] | right["is_any"]
        return {"length": length, "n": np.where(is_any, np.maximum(*mine), 0), "is_any": is_any}

    def lower(self, state):
        texts = [f"{a}:{b}" if c else None for a, b, c in zip(*state.values())]
        return pa.array(texts, pa.string())


@tidemill.aggregate(
    arguments={"n": "BIGINT", "at": "EVENT TIME"},
    state={"latest": "TIMESTAMP", "counts": "BIGINT[4]"},
    returns="ARRAY<BIGINT>",
)
class LastSteps:
    """How many numbers there are of each rest by four, and in front the time of the latest."""

    def identity(self):
        return {"latest": np.datetime64(-(2**62), "us"), "counts": [0, 0, 0, 0]}

    def lift(self, n, at):
        rest = np.mod(n.to_numpy(), 4)
        return {"latest": at, "counts": (rest[:, None] == np.arange(4)).astype(np.int64)}

    def combine(self, left, right):
        return {
            "latest": np.maximum(left["latest"], right["latest"]),
            "counts": left["counts"] + right["counts"],
        }

    def lower(self, state):
        return np.column_stack([state["latest"].astype(np.int64), state["counts"]])


@tidemill.aggregate(arguments={"n": "BIGINT"}, state={"total": "BIGINT"}, returns="BIGINT")
class Total:
    """With a subtract, so that windows are differences."""

    def identity(self):
        return {"total": 0}

    def lift(self, n):
        return {"total": n}

    def combine(self, left, right):
        return {"total": left["total"] + right["total"]}

    def subtract(self, left, right):
        return {"total": left["total"] - right["total"]}

    def lower(self, state):
        return state["total"]
'''
CODES = tuple(
    Code(name, TEXT, "", "written.py") for name in ("spread_out", "longest", "last_steps", "total")
)
