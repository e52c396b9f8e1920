"""Values as plain data that JSON can hold: dictionaries, lists, texts, numbers and null.

>>> from tidemill.windows import WindowSpec
>>> plain_data((WindowSpec(60, 10), b"ab", float("inf")))
[{'is': 'WindowSpec', 'range_us': 60, 'slide_us': 10, 'start_us': 0}, '6162', 'Infinity']
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

_PLAIN = (bool, int, str, type(None))


def plain_data(value: Any) -> Any:
    """A frozen value is a dictionary with the name of its class; places in a script are left out.

    Numbers that JSON does not have, such as decimals, are texts.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _unusual(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(map(plain_data, value), key=repr)
    return _fields(value) if is_dataclass(value) else str(value)


def _fields(value: Any) -> dict[str, Any]:
    shown = [field.name for field in fields(value) if field.repr]
    return {"is": type(value).__name__} | {name: plain_data(getattr(value, name)) for name in shown}


def _unusual(value: float) -> str:
    return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
