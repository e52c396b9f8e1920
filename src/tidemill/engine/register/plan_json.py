"""Frozen values as JSON and back: tagged by class, so that a plan can be read as it was kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from tidemill.aggregates import Lane, lane_of_kind
from tidemill.catalog import Code
from tidemill.language.names import Name
from tidemill.language.statements import Window
from tidemill.plan.expressions import Scalar, Slot, TableColumn
from tidemill.plan.joins import Join
from tidemill.plan.predicates import Predicate, Reading, Term
from tidemill.plan.predicates.boxes import Box
from tidemill.plan.predicates.values import ValueSet
from tidemill.plan.query import Key
from tidemill.plan.relation import Derived, Projection, Source, TableJoin, Union
from tidemill.share import Stint
from tidemill.share.model import NamedGroup, RatePlan, RatePlans
from tidemill.state.synopsis import Bit, KeptLane, Synopsis
from tidemill.types import Type
from tidemill.windows import Cut, Cuts, WindowSpec

_CLASSES: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        *(Bit, Box, Code, Cut, Cuts, Derived, Join, Key, KeptLane, Predicate),
        *(Projection, Reading, Scalar, Slot, Source, Stint, Synopsis, TableColumn, TableJoin),
        *(NamedGroup, RatePlan, RatePlans, Union, Term, Type, ValueSet, Window, WindowSpec),
    )
} | {"Lane": lane_of_kind}


def to_json(value: Any) -> str:
    """Values of the classes above, tuples, bytes and plain values."""
    return json.dumps(to_plain(value))


def from_json(text: str) -> Any:
    return from_plain(json.loads(text))


def to_plain(value: Any) -> Any:
    """A value as JSON can write it."""
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Name):
        return {"name": value.written}
    if isinstance(value, Lane):
        return {"is": "Lane", "kind": value.kind, **_fields(value)}
    if type(value).__name__ in _CLASSES:
        return {"is": type(value).__name__, **_fields(value)}
    return value


def _fields(value: Any) -> dict[str, Any]:
    """All but the typed tree of a scalar, which follows from the rest."""
    names = [field.name for field in fields(value) if field.name != "node"]
    return {name: to_plain(getattr(value, name)) for name in names}


def from_plain(raw: Any) -> Any:
    """A value from what JSON has read."""
    if isinstance(raw, list):
        return tuple(from_plain(item) for item in raw)
    if not isinstance(raw, dict):
        return raw
    if "is" in raw:
        return _CLASSES[raw["is"]](**{k: from_plain(item) for k, item in raw.items() if k != "is"})
    return Name(raw["name"]) if "name" in raw else bytes.fromhex(raw["bytes"])
