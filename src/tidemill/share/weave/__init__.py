"""Weaving windows: which of them share slices, chosen by cost."""

from tidemill.share.weave.choose import WEAVE_MODES, WeavePlan, choose_weave, stage_costs, woven
from tidemill.share.weave.figures import (
    ARRAY_COSTS,
    CATALYST_COSTS,
    CellCosts,
    MachineCosts,
    Machines,
)
from tidemill.share.weave.linkage import GroupMerge, Linkage, link
from tidemill.share.weave.live import WeaveRounds
from tidemill.share.weave.model import (
    Cost,
    CostModel,
    Groups,
    Processing,
    Workload,
    alone,
    cost_of_plan,
    everything,
)
from tidemill.share.weave.operations import Operations
from tidemill.share.weave.rate_ranges import RateRanges
from tidemill.share.weave.timeline import Timeline
from tidemill.share.weave.weaveability import Affinity, EdgeRate, affinity, rate_of

__all__ = [
    "ARRAY_COSTS",
    "CATALYST_COSTS",
    "WEAVE_MODES",
    "Affinity",
    "CellCosts",
    "Cost",
    "CostModel",
    "EdgeRate",
    "GroupMerge",
    "Groups",
    "Linkage",
    "MachineCosts",
    "Machines",
    "Operations",
    "Processing",
    "RateRanges",
    "Timeline",
    "WeavePlan",
    "WeaveRounds",
    "Workload",
    "affinity",
    "alone",
    "choose_weave",
    "cost_of_plan",
    "everything",
    "link",
    "rate_of",
    "stage_costs",
    "woven",
]
