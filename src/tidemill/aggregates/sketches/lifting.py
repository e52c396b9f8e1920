"""Sketches made by Spark's own aggregates, of keys that are the same here.

Spark's HLL and theta sketches hash with the library's seed, its frequent items are kept with
the library's bytes for 64-bit integers and texts. What has no key in SQL, floats by their bits
and decimals by their digits, and what Spark has no such aggregate for, is grouped by its value
in Catalyst, and sketched here.
"""

from __future__ import annotations

from tidemill.plan.functions.sketches import items_room
from tidemill.types import BOOLEAN, DATE, STRING, TIMESTAMP, Type

# Spark leaves empty texts out of HLL and theta sketches, as the library does in Python.
_NOT_EMPTY = r"IF({value} = '', '\0', {value})"
_KEYS = {
    BOOLEAN: "BIGINT({value})",
    DATE: "BIGINT(UNIX_DATE({value}))",
    TIMESTAMP: "UNIX_MICROS({value})",
    STRING: "{value}",
}
_AGGREGATES = {
    "hll": "HLL_SKETCH_AGG({key}, {size})",
    "theta": "THETA_SKETCH_AGG({key}, {size})",
    "items": "APPROX_TOP_K_ACCUMULATE({key}, {size}).sketch",
}


def is_by_value(kind: str, of: Type) -> bool:
    """Whether Catalyst has to group by the values."""
    return kind == "countmin" or (kind != "kll" and _key(of) is None)


def lift_sql(kind: str, size: int, of: Type, value: str) -> str:
    """The Catalyst aggregate that makes the sketch, where it is not made by value."""
    if kind == "kll":
        return f"KLL_SKETCH_AGG_DOUBLE(DOUBLE({value}), {size})"
    key = _NOT_EMPTY if of == STRING and kind != "items" else _key(of)
    assert key is not None
    tracked = items_room(size) if kind == "items" else size
    return _AGGREGATES[kind].format(key=key.format(value=value), size=tracked)


def _key(of: Type) -> str | None:
    return "BIGINT({value})" if of.is_integer else _KEYS.get(of)
