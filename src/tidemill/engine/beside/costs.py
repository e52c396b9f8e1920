"""The costs of joint runs, by the cells that are kept or by the sample of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tidemill.engine.tick.bases import Versions
from tidemill.engine.tick.stints import basis_id
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.schedule import Soft
from tidemill.share import EngineCosts, SharedPlan
from tidemill.share.costs import needs_of
from tidemill.state.store import Version
from tidemill.state.synopsis import Synopsis

_US_PER_SECOND = 1_000_000
_NS = 1e-9


def group_of(plan: SharedPlan, query: QueryPlan) -> str:
    """Queries that read one basis can run together for less."""
    return basis_id(plan.synopsis_of(part.name).id for part in query.by_source)


@dataclass(frozen=True)
class JointCosts:
    """Seconds: to begin, to read the cells of the longest window once, to answer each query."""

    run_ns: float
    read_ns: dict[str, float] = field(default_factory=dict)  # by query, its own cells
    answer_ns: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def of(
        plan: SharedPlan,
        queries: Iterable[QueryPlan],
        costs: Mapping[Name, EngineCosts],
        versions: Versions,
    ) -> JointCosts:
        """Of cells that are there it is known how many they are; else the sample tells.

        A union has the cells of all its parts, and the groups of the part that has most.
        """
        machine = next(iter(costs.values())).machine
        joint, rates = JointCosts(machine.run_ns), dict[str, float]()
        for query in queries:
            longest_s = max(query.window.ranges_us) / _US_PER_SECOND
            read_ns = answer_ns = 0.0
            for part in query.by_source:
                stream, synopsis = source_name(part.relation), plan.synopsis_of(part.name)
                if synopsis.id not in rates:
                    rates[synopsis.id] = _rate(plan, synopsis, costs[stream], versions[stream])
                cells = rates[synopsis.id]
                work = costs[stream].work_of(needs_of([part]), cells)
                read_ns += cells * longest_s * (work.read_ns + work.combine_ns)
                answer_ns = max(answer_ns, _groups(part, costs[stream]) * work.answer_ns)
            joint.read_ns[query.name], joint.answer_ns[query.name] = read_ns, answer_ns
        return joint

    def __call__(self, queries: Sequence[Soft]) -> float:
        names = [query.name for query in queries]
        read_ns = max(self.read_ns[name] for name in names)
        return (self.run_ns + read_ns + sum(self.answer_ns[name] for name in names)) * _NS


def _rate(plan: SharedPlan, synopsis: Synopsis, costs: EngineCosts, version: Version) -> float:
    readers = [reader for reader, _ in plan.readers_of(synopsis)]
    stored = cells_per_second(version, synopsis.id)
    return stored or costs.cells_per_second(needs_of(readers))


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
