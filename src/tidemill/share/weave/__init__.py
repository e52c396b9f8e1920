"""Weaving windows: which of them share slices, chosen by cost."""

from tidemill.share.weave.choose import MODES, Plan, choose, stage_costs, woven
from tidemill.share.weave.figures import ARRAYS, CATALYST, VISITS, MachineCosts, Machines
from tidemill.share.weave.linkage import Linkage, Merge, link
from tidemill.share.weave.live import LivePlan, Policy, added, begin, rebuilt, removed
from tidemill.share.weave.machine import Machine, Statistics
from tidemill.share.weave.model import (
    Cost,
    CostModel,
    Groups,
    Processing,
    Workload,
    alone,
    everything,
    group_rates,
    plan_cost,
)
from tidemill.share.weave.operations import Operations, exact_cost, lower_bound, model_cost
from tidemill.share.weave.rate_ranges import RateDecision, RateMemo, RateRanges, observe
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
    "LivePlan",
    "Machine",
    "MachineCosts",
    "Machines",
    "Merge",
    "Operations",
    "Plan",
    "Policy",
    "Processing",
    "RateDecision",
    "RateMemo",
    "RateRanges",
    "Statistics",
    "Timeline",
    "Workload",
    "added",
    "affinity",
    "alone",
    "begin",
    "choose",
    "everything",
    "exact_cost",
    "group_rates",
    "link",
    "lower_bound",
    "model_cost",
    "observe",
    "plan_cost",
    "rate_of",
    "rebuilt",
    "removed",
    "stage_costs",
    "woven",
]
