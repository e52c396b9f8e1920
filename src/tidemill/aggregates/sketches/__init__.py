"""Sketches: states of bounded size that are merged, and tell how far they may be wrong."""

from tidemill.aggregates.sketches.base import Family, KeySketchLane, OfKeys, SketchLane, State
from tidemill.aggregates.sketches.counting import CountMin, CountMinLane
from tidemill.aggregates.sketches.distinct import HllLane, HyperLogLog, Theta, ThetaLane
from tidemill.aggregates.sketches.frequent import Items, ItemsLane
from tidemill.aggregates.sketches.keys import is_text_key
from tidemill.aggregates.sketches.quantiles import KllLane, Quantiles

__all__ = ["CountMin", "CountMinLane", "Family", "HllLane", "HyperLogLog", "Items", "ItemsLane"]
__all__ += ["KeySketchLane", "KllLane", "OfKeys", "Quantiles", "SketchLane", "State", "Theta"]
__all__ += ["ThetaLane", "is_text_key"]
