"""The cost of a joint run of soft queries, by the engine's own figures of this machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tidemill.plan.query import QueryPlan
from tidemill.schedule import Soft
from tidemill.share import EngineCosts, SharedPlan
from tidemill.share.needs import needs_of
from tidemill.state.store import Version

_US_PER_SECOND = 1_000_000
_NS = 1e-9


@dataclass(frozen=True)
class JointCosts:
    """Seconds: to begin, to read the cells of the longest window once, to answer each query."""

    run_ns: float
    read_ns: dict[str, float] = field(default_factory=dict)  # by query, its own cells
    answer_ns: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def of(
        plan: SharedPlan, queries: Iterable[QueryPlan], costs: EngineCosts, version: Version
    ) -> JointCosts:
        """Of cells that are there it is known how many they are; else the sample tells."""
        joint = JointCosts(costs.machine.run_ns)
        rates = {}
        for query in queries:
            synopsis = plan.synopsis_of(query.name)
            if synopsis.id not in rates:
                readers = [reader for reader, _ in plan.readers_of(synopsis)]
                stored = cells_per_second(version, synopsis.id)
                rates[synopsis.id] = stored or costs.cells_per_second(needs_of(readers))
            cells = rates[synopsis.id] * max(query.window.ranges_us) / _US_PER_SECOND
            joint.read_ns[query.name] = cells * costs.machine.combine_ns
            joint.answer_ns[query.name] = _groups(query, costs) * costs.machine.answer_ns
        return joint

    def __call__(self, queries: Sequence[Soft]) -> float:
        names = [query.name for query in queries]
        read_ns = max(self.read_ns[name] for name in names)
        return (self.run_ns + read_ns + sum(self.answer_ns[name] for name in names)) * _NS


def cells_per_second(version: Version, synopsis_id: str) -> float | None:
    """Of stream time, over the slices that are kept; None where they are too few to tell."""
    slices = version.slices(synopsis_id)
    if len(slices) < 2:
        return None
    cells = sum(piece.rows for piece in version.of(synopsis_id))
    slice_us = float(slices[-1] - slices[0]) / (len(slices) - 1)
    return cells / (len(slices) * slice_us) * _US_PER_SECOND


def _groups(query: QueryPlan, costs: EngineCosts) -> float:
    """Groups of all of its windows."""
    needs = needs_of([query])
    return sum(
        costs.sample.cells(
            sorted(needs.keys), needs.predicates, range_us / _US_PER_SECOND, needs.keeps_all
        )
        for range_us in query.window.ranges_us
    )
