"""Sketches: states of bounded size that are merged, and tell how far they may be wrong."""

from __future__ import annotations

from tidemill.aggregates.sketches.base import Family, OfKeys, State
from tidemill.aggregates.sketches.counting import CountMin
from tidemill.aggregates.sketches.distinct import HyperLogLog, Theta
from tidemill.aggregates.sketches.frequent import Items
from tidemill.aggregates.sketches.keys import is_text_key
from tidemill.aggregates.sketches.quantiles import Quantiles
from tidemill.types import Type

__all__ = ["KINDS", "CountMin", "Family", "HyperLogLog", "Items", "OfKeys", "Quantiles", "State"]
__all__ += ["Theta", "family", "family_of_keys", "is_text_key"]

KINDS = ("hll", "theta", "kll", "items", "countmin")


def family_of_keys(kind: str, size: int, of: Type) -> HyperLogLog | Theta | Items | CountMin:
    """Sketches that are made of keys."""
    if kind == "items":
        return Items(size, is_text_key(of))
    if kind == "countmin":
        return CountMin(size)
    return HyperLogLog(size) if kind == "hll" else Theta(size)


def family(kind: str, size: int, of: Type) -> Family:
    return Quantiles(size) if kind == "kll" else family_of_keys(kind, size, of)
