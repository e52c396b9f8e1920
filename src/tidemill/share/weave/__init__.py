"""Weaving windows: which of them share slices, chosen by cost."""

from tidemill.share.weave.choose import MODES, Plan, choose, stage_costs, woven
from tidemill.share.weave.figures import ARRAYS, CATALYST, VISITS, MachineCosts, Machines
from tidemill.share.weave.linkage import Linkage, Merge, link
from tidemill.share.weave.machine import Machine, Statistics
from tidemill.share.weave.model import (
    Cost,
    CostModel,
    Groups,
    Processing,
    Workload,
    alone,
    everything,
    plan_cost,
)
from tidemill.share.weave.operations import Operations
from tidemill.share.weave.rate_ranges import RateRanges
from tidemill.share.weave.timeline import Timeline
from tidemill.share.weave.weaveability import Affinity, EdgeRate, affinity, rate_of

__all__ = [
    "ARRAYS",
    "CATALYST",
    "MODES",
    "VISITS",
    "Affinity",
    "Cost",
    "CostModel",
    "EdgeRate",
    "Groups",
    "Linkage",
    "Machine",
    "MachineCosts",
    "Machines",
    "Merge",
    "Operations",
    "Plan",
    "Processing",
    "RateRanges",
    "Statistics",
    "Timeline",
    "Workload",
    "affinity",
    "alone",
    "choose",
    "everything",
    "link",
    "plan_cost",
    "rate_of",
    "stage_costs",
    "woven",
]
