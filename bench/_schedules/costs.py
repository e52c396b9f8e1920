"""The time of a joint run, in seconds: by the papers' model, and by this engine's figures.

>>> from tidemill.schedule.soft import Soft
>>> both = [Soft("a", "g", 1), Soft("b", "g", 1)]
>>> cost = MODELS["cheap"].cost({"a": 51, "b": 21}, values=1)
>>> round(cost(both), 6), round(cost(both[1:]), 6)
(0.104, 0.042)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidemill.schedule.soft import JointCost, Soft
from tidemill.share.weave.figures import ARRAY_COSTS

# A merge of two intervals' counters. The papers print none: with this one, forty queries at the
# low rate keep the machine about two thirds busy if each runs alone.
MERGE_S = 0.002
# What `answer/task.py` measured: a row read from a piece and put into its cell.
ROW_S = 150e-9
# What a whole tick of one query takes in `tidemill bench ticks`.
TICK_S = 0.008


@dataclass(frozen=True)
class Model:
    """A price for the run, one for each update of the longest window, one for each query.

    The last two are those of the low rate; at the high one there are twice as many values.
    """

    title: str
    run_s: float
    update_s: float
    query_s: float

    def cost(self, windows: Mapping[str, int], values: int) -> JointCost:
        def joint(queries: Sequence[Soft]) -> float:
            merges = max(windows[query.name] for query in queries) - 1
            return self.run_s + values * (merges * self.update_s + len(queries) * self.query_s)

        return joint


GROUPS = 10_000
MODELS = {
    "merges": Model("papers, merges alone", 0.0, MERGE_S, 0.0),
    "cheap": Model("papers, a query one merge", 0.0, MERGE_S, MERGE_S),
    "dear": Model("papers, a query thirty merges", 0.0, MERGE_S, 30 * MERGE_S),
    "engine": Model(
        "this engine, 10,000 groups", TICK_S, GROUPS * ROW_S, GROUPS * ARRAY_COSTS.answer_ns * 1e-9
    ),
}
