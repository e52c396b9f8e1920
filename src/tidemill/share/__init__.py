"""Many plans ⇒ one shared plan."""

from tidemill.share.costs import EngineCosts
from tidemill.share.costs.sample import Sample
from tidemill.share.feeds import arrange_feeds
from tidemill.share.growth import Regrouping, change_plan, rebuild_plan, retire_stints
from tidemill.share.model import SharedPlan, Stint, specs_of, windowed, with_row_queries
from tidemill.share.optimiser import Context
from tidemill.share.rates import Turn, follow_rate, turn
from tidemill.share.synopses import StreamPosition, first_window

__all__ = [
    "Context",
    "EngineCosts",
    "Regrouping",
    "Sample",
    "SharedPlan",
    "Stint",
    "StreamPosition",
    "Turn",
    "arrange_feeds",
    "change_plan",
    "first_window",
    "follow_rate",
    "rebuild_plan",
    "retire_stints",
    "specs_of",
    "turn",
    "windowed",
    "with_row_queries",
]
