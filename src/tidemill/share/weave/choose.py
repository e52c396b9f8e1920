"""Chooses the plan of a sharing mode: groups of windows, and how they get their slices.

>>> from fractions import Fraction
>>> from tidemill.share.weave.operations import Operations
>>> windows = [WindowSpec(r * 10**6, s * 10**6) for r, s in ((5, 4), (5, 3), (1, 6), (3, 4))]
>>> for mode in WEAVE_MODES:
...     plan = choose_weave(mode, windows, Operations(Fraction(1)))
...     print(f"{mode}: {plan.cost} by {plan.processing.value}, {len(plan.groups)} groups")
none: 43/6 by trees, 4 groups
shared: 13/2 by shared, 1 groups
weave: 13/2 by shared, 1 groups
triweave: 13/2 by shared, 1 groups
auto: 13/2 by shared, 1 groups
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tidemill.share.weave.linkage import Linkage, link
from tidemill.share.weave.model import (
    Cost,
    CostModel,
    Groups,
    Processing,
    Workload,
    alone,
    assembled,
    cost_of_plan,
    everything,
)
from tidemill.windows import WindowSpec


@dataclass(frozen=True)
class WeavePlan:
    """Groups of windows, by their place in the workload, and their cost."""

    groups: Groups
    processing: Processing
    cost: Cost


def choose_weave(mode: str, windows: Iterable[WindowSpec], model: CostModel) -> WeavePlan:
    """The cheapest plan the mode allows; of equals the simplest.

    Woven plans are guarded: they never cost more than sharing everything or nothing.
    """
    if mode not in _PLANNERS:
        raise ValueError(f"no sharing mode '{mode}'; modes: {', '.join(WEAVE_MODES)}")
    load = Workload.of(windows)
    plans = [planner(load, model) for planner in _PLANNERS[mode]]
    return min(plans, key=lambda plan: plan.cost)


def woven(load: Workload, processing: Processing, model: CostModel) -> WeavePlan:
    """The cheapest stage of the greedy, from all apart to all together.

    One group is served without an intercede, which would copy every slice as it is.
    """
    shared = _shared(load, model)
    linkage = link(load, processing, model)
    costs = stage_costs(load, linkage, processing, model)
    merges = min(range(len(costs)), key=costs.__getitem__)
    # The last stage is all together; sums of floats may put it a hair below the same plan.
    if merges == len(costs) - 1 or shared.cost <= costs[merges]:
        return shared
    return WeavePlan(linkage.groups(merges), processing, costs[merges])


def stage_costs(
    load: Workload, linkage: Linkage, processing: Processing, model: CostModel
) -> list[Cost]:
    """The cost after no merge, after one, and so on, without a bypass at the end."""
    count = len(linkage.start)
    return [
        assembled(load, processing, model, count - merges, finals)
        for merges, finals in enumerate(linkage.finals_after())
    ]


def _priced(load: Workload, groups: Groups, processing: Processing, model: CostModel) -> WeavePlan:
    return WeavePlan(groups, processing, cost_of_plan(load, groups, processing, model))


def _none(load: Workload, model: CostModel) -> WeavePlan:
    return _priced(load, alone(len(load.windows)), Processing.TREES, model)


def _shared(load: Workload, model: CostModel) -> WeavePlan:
    return _priced(load, everything(len(load.windows)), Processing.SHARED, model)


def _weave(load: Workload, model: CostModel) -> WeavePlan:
    return woven(load, Processing.TREES, model)


def _triweave(load: Workload, model: CostModel) -> WeavePlan:
    return woven(load, Processing.TRIOPS, model)


# In the order in which equals are preferred.
_PLANNERS: dict[str, tuple[Callable[[Workload, CostModel], WeavePlan], ...]] = {
    "none": (_none,),
    "shared": (_shared,),
    "weave": (_shared, _none, _weave),
    "triweave": (_shared, _none, _triweave),
    "auto": (_shared, _none, _weave, _triweave),
}
WEAVE_MODES = tuple(_PLANNERS)
