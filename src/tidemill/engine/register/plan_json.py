"""Frozen values as JSON and back: tagged by class, so that a plan can be read as it was kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from tidemill.aggregates import Lane
from tidemill.catalog import Code
from tidemill.language.statements import Window
from tidemill.plan.expressions import Slot
from tidemill.plan.predicates import Predicate, Reading, Term
from tidemill.plan.predicates.boxes import Box
from tidemill.plan.predicates.values import ValueSet
from tidemill.plan.query import Join, Key, Scalar, TableColumn
from tidemill.share import Stint
from tidemill.state.synopsis import Bit, KeptLane, Synopsis
from tidemill.types import Type
from tidemill.windows import Cut, Cuts, WindowSpec

_CLASSES: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        *(Bit, Box, Code, Cut, Cuts, Join, Key, KeptLane, Lane, Predicate, Reading, Scalar, Slot),
        *(Stint, Synopsis, TableColumn, Term, Type, ValueSet, Window, WindowSpec),
    )
}


def to_json(value: Any) -> str:
    """Values of the classes above, tuples, bytes and plain values."""
    return json.dumps(_plain(value))


def from_json(text: str) -> Any:
    return _value(json.loads(text))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if type(value).__name__ in _CLASSES:
        body = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {"is": type(value).__name__, **body}
    return value


def _value(raw: Any) -> Any:
    if isinstance(raw, list):
        return tuple(_value(item) for item in raw)
    if not isinstance(raw, dict):
        return raw
    if "bytes" in raw:
        return bytes.fromhex(raw["bytes"])
    kind = _CLASSES[raw.pop("is")]
    return kind(**{name: _value(item) for name, item in raw.items()})
